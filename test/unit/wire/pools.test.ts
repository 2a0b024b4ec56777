import { describe, expect, it } from 'vitest';
import {
  configurationFromEnvironment,
  routingFromEnvironment,
  toEnvironment,
} from '../../../lib/settings/environment.ts';
import { defaultSettings } from '../../../lib/settings/settings.ts';
import { type Pools, parsePools, queueUrlFor } from '../../../lib/wire/pools.ts';

const pool = (...types: string[]) => ({ queueUrl: 'https://sqs.eu-west-1.amazonaws.com/1/render', types });
const pools: Pools = { render: pool('render', 'thumbnail') };
const resources = { tableName: 't', queueUrl: 'https://default', serviceName: 's', eventBusName: 'b' };

describe('the queue of a type', () => {
  it('is its pool’s, or the default pool’s', () => {
    expect(queueUrlFor('default', pools, 'thumbnail')).toBe(pools.render?.queueUrl);
    expect(queueUrlFor('default', pools, 'invoice')).toBe('default');
    expect(queueUrlFor('default', pools, undefined)).toBe('default');
  });
});

describe('pools', () => {
  it('pass through the environment, with the pool of the worker', () => {
    const configuration = { resources, settings: defaultSettings, routing: { pool: 'render', pools } };
    expect(configurationFromEnvironment(toEnvironment(configuration))).toEqual(configuration);
    expect(routingFromEnvironment({})).toBeUndefined();
    expect(routingFromEnvironment({ LEASEHOLD_POOLS: '{}' })).toEqual({ pool: 'default', pools: {} });
  });

  it.each([
    ['a type in two pools', { a: pool('x'), b: pool('x') }, "type 'x' is in the pools 'a' and 'b'"],
    ['the default pool', { default: pool('x') }, "pool 'default' cannot be declared"],
    ['a bad name', { 'A b': pool('x') }, "pool 'A b' has a bad name; it must be 1 to 30 characters"],
    ['no types', { a: pool() }, "pool 'a' has no types"],
    ['a bad type', { a: pool('x y') }, "pool 'a' has the type 'x y'"],
    [
      'too many',
      { a: pool(...Array.from({ length: 100 }, (_, n) => `a-rather-long-type-${n}`)) },
      'at most 2048 are allowed. Use fewer pools or types',
    ],
  ])('are refused: %s', (_, given, message) => {
    expect(parsePools(JSON.stringify(given)).problems).toEqual([expect.stringContaining(message)]);
  });

  it.each(['nonsense', '[1]', '{"a":{}}', 'null'])('are refused where they cannot be read: %s', (text) => {
    expect(parsePools(text).problems).toEqual([expect.stringContaining('as the stack writes them')]);
    expect(() => routingFromEnvironment({ LEASEHOLD_POOLS: text })).toThrow(
      "environment variable 'LEASEHOLD_POOLS': the pools are ",
    );
  });

  it('must contain the pool of the worker', () => {
    const environment = { LEASEHOLD_POOLS: JSON.stringify(pools), LEASEHOLD_POOL: 'rendr' };
    expect(() => routingFromEnvironment(environment)).toThrow(
      "environment variable 'LEASEHOLD_POOL' is 'rendr'. Did you mean 'render'? It must be one of default, render",
    );
  });
});
