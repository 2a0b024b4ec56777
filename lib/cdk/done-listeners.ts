import { type IEventBus, type IRuleTarget, Rule } from 'aws-cdk-lib/aws-events';
import type { Construct } from 'constructs';
import type { Settings } from '../settings/settings.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { ALL_TYPES, EVENT_SOURCE, type EventName } from '../wire/events.ts';
import { isJobType, quoted } from '../wire/message.ts';

/** The jobs to listen for. */
export interface DoneListener {
  readonly type: string;
}

export class ListenedTypes {
  readonly #types: Set<string>;

  constructor(list: string) {
    this.#types = new Set(list.split(',').filter((type) => type !== ''));
  }

  add(type: string): void {
    this.#types.add(type);
  }

  toString(): string {
    return this.#types.has(ALL_TYPES) ? ALL_TYPES : [...this.#types].join(',');
  }
}

export function ruleForDone(
  jobs: Construct & {
    readonly eventBus: IEventBus;
    readonly serviceName: string;
    readonly settings: Settings;
  },
  { type }: DoneListener,
  target: IRuleTarget,
): Rule {
  if (!isJobType(type))
    throw new SettingsError([
      `the type given to 'onJobDone' is ${quoted(type)}; it must be 1 to 100 characters of A-Z a-z 0-9 . _ -, as in onJobDone({ type: 'invoice' }, target)`,
    ]);
  if (!jobs.settings.eventsEnabled)
    throw new SettingsError([
      `'onJobDone' listens for type '${type}', and 'eventsEnabled' is false, so no event is ever published. Set 'eventsEnabled' to true or leave it out`,
    ]);
  const same = jobs.node.children.filter(({ node }) => node.id.startsWith(`OnJobDone-${type}-`)).length;
  return new Rule(jobs, `OnJobDone-${type}-${same + 1}`, {
    eventBus: jobs.eventBus,
    description: `Jobs of type ${type} that ${jobs.serviceName} has done`,
    eventPattern: {
      source: [EVENT_SOURCE],
      detailType: ['JobDone' satisfies EventName],
      detail: { service: [jobs.serviceName], type: [type] },
    },
    targets: [target],
  });
}
