import type { JsonValue } from '../../wire/message.ts';

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly enum?: readonly JsonValue[];
  readonly const?: JsonValue;
  readonly default?: JsonValue;
  readonly anyOf?: readonly JsonSchema[];
  readonly format?: string;
  readonly minimum?: number;
}

const texts: Readonly<Record<string, string>> = {
  email: 'ada@example.com',
  uri: 'https://example.com',
  'date-time': '2030-01-01T00:00:00Z',
  date: '2030-01-01',
  uuid: '6f1c1a0e-0d5b-4c5e-9d0a-1b2c3d4e5f60',
};

/** An empty object unless the schema library can produce JSON Schema. */
export function samplePayload(schema: { readonly '~standard': object } | undefined): JsonValue {
  const standard = (schema?.['~standard'] ?? {}) as {
    readonly jsonSchema?: { input(options: { readonly target: string }): JsonSchema };
  };
  try {
    return sampleOf(standard.jsonSchema?.input({ target: 'draft-2020-12' }) ?? { type: 'object' });
  } catch {
    return {};
  }
}

function sampleOf(schema: JsonSchema): JsonValue {
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum !== undefined) return schema.enum[0] ?? null;
  if (schema.anyOf !== undefined) return sampleOf(schema.anyOf[0] ?? {});
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([name]) => schema.required?.includes(name))
          .map(([name, part]) => [name, sampleOf(part)]),
      );
    case 'array':
      return schema.items === undefined ? [] : [sampleOf(schema.items)];
    case 'string':
      return texts[schema.format ?? ''] ?? 'text';
    case 'integer':
    case 'number':
      return Math.max(1, schema.minimum ?? 1);
    case 'boolean':
      return true;
    default:
      return null;
  }
}
