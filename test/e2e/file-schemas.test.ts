import { afterAll, beforeAll, expect, test } from 'vitest';
import { Installation, type Instance } from './support/product.js';
import { createDatabase } from '../support/test-database.js';

/** `schemas/` is what the served document says of requests and deploys; `-u` writes it anew. */
type Json = Record<string, unknown>;
const installation = new Installation({ database: createDatabase });
let components: Record<string, Json>;
beforeAll(async () => {
  const instance: Instance = await installation.start(['scheduler']);
  const document = (await (await fetch(`${instance.api.url}/docs/openapi.json`)).json()) as {
    components: { schemas: Record<string, Json> };
  };
  components = document.components.schemas;
}, 90_000);
afterAll(() => installation.dispose(), 90_000);

test.each([
  ['request', 'RequestDto', 'A request of Muster: what should run.'],
  ['deploy', 'DeployRequestDto', 'A deploy of Muster: a version of a request.'],
])('the JSON Schema of a %s is made of the served document', async (name, record, title) => {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title,
    ...definitionOf(record),
    definitions: Object.fromEntries(
      [...reached(record)].sort().map((each) => [each.replace(/Dto$/, ''), definitionOf(each)]),
    ),
  };
  await expect(`${JSON.stringify(schema, undefined, 2)}\n`).toMatchFileSnapshot(`../../schemas/${name}.schema.json`);
});

/** The records that this one is made of, without itself. */
function reached(name: string, seen = new Set<string>()): Set<string> {
  const text = JSON.stringify(components[name]);
  for (const [, other] of text.matchAll(/#\/components\/schemas\/(\w+)/g)) {
    if (seen.has(other!)) continue;
    seen.add(other!);
    reached(other!, seen);
  }
  return seen;
}

function definitionOf(name: string): Json {
  const definition = inWords(components[name]) as Json & { required?: string[]; properties?: Record<string, Json> };
  // One text is taken as well, and answered so.
  const content = definition.properties?.['content'];
  if (name === 'EmbeddedArtifactDto' && content) {
    const { description, ...list } = content;
    definition.properties!['content'] = { description, oneOf: [list['items'], list] };
  }
  if (definition['type'] !== 'object') return definition;
  // An id that is left out is made from what the deploy says.
  const required = definition.required?.filter((member) => name !== 'DeployDto' || member !== 'id') ?? [];
  // Absent, they have defaults; what the record of answers always has is not asked of callers.
  const isOptional = name === 'CanaryDeploySettingsDto' || required.length === 0;
  const { required: _all, ...rest } = definition;
  return { ...rest, ...(isOptional ? {} : { required }), additionalProperties: false };
}

/** From the words of OpenAPI into those of JSON Schema. */
function inWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inWords);
  if (typeof value !== 'object' || value === null) return value;
  const { allOf, additionalProperties, ...rest } = value as Json & { allOf?: Json[]; additionalProperties?: Json };
  const entries = Object.entries(rest).filter(
    ([key]) => !key.startsWith('x-') && key !== 'format' && key !== 'nullable',
  );
  const result = Object.fromEntries(
    entries.map(([key, member]) => [
      key,
      key === '$ref'
        ? String(member).replace('#/components/schemas/', '#/definitions/').replace(/Dto$/, '')
        : inWords(member),
    ]),
  );
  // A reference stands alone in draft 07: what stands beside it is not read by all.
  if (allOf?.length === 1) return { ...result, allOf: inWords(allOf) };
  if (additionalProperties === undefined) return result;
  // Values of maps of text may be numbers and truth values: the server takes their text.
  const isText = additionalProperties['type'] === 'string' && !('enum' in additionalProperties);
  const members = inWords(additionalProperties) as Json;
  return { ...result, additionalProperties: isText ? { ...members, type: ['string', 'number', 'boolean'] } : members };
}
