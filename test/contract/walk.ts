import type { Contract, ContractOperation } from './contract.js';
import { compareTypes } from './compare-types.js';
import { Schemas, type Document, type Operation } from './document.js';

export interface Findings {
  /** By operation ("GET /api/state") or record: what is missing or differs. */
  operations: Map<string, string[]>;
  records: Map<string, string[]>;
}

/** Holds a served document against the contract. What the document has beyond it is fine. */
export function walk(contract: Contract, document: Document): Findings {
  const schemas = new Schemas(document.components.schemas);
  const operations = contract.operations.map((wanted): [string, string[]] => {
    const { method, path } = wanted;
    const served = underPath(document, path)?.[method.toLowerCase()];
    return [`${method} ${path}`, served ? compareOperation(wanted, served, contract, schemas) : ['does not exist']];
  });
  const records = Object.keys(contract.records).map((record): [string, string[]] => [
    record,
    compareRecord(record, contract, schemas),
  ]);
  const different = (found: [string, string[]][]) => new Map(found.filter(([, differences]) => differences.length > 0));
  return { operations: different(operations), records: different(records) };
}

/** A path has one template in the document, whatever its parameters are called there. */
const shapeOf = (path: string): string => path.replaceAll(/\{\w+\}/g, '{}');
const underPath = ({ paths }: Document, path: string): Record<string, Operation> | undefined =>
  paths[path] ?? Object.entries(paths).find(([served]) => shapeOf(served) === shapeOf(path))?.[1];

/** Names that are one but for capital letters and underscores are one member, in the newer spelling. */
const spellingOf = (name: string): string => name.replaceAll('_', '').toLowerCase();
const hasOtherSpelling = (name: string, members: Iterable<string>): boolean =>
  [...members].some((one) => one !== name && spellingOf(one) === spellingOf(name));

/** Pairs of members of a record that no language with one style of names can tell apart. */
export const alikeMembers = ({ components }: Document): string[] =>
  Object.entries(components.schemas).flatMap(([record, { properties = {} }]) => {
    const names = Object.keys(properties);
    return names.filter((name) => hasOtherSpelling(name, names)).map((name) => `${record}.${name}`);
  });

/**
 * Parts of a served document below /api that the contract does not know: operations, and members without a mark as an
 * addition.
 */
export function beyond(contract: Contract, document: Document): { operations: string[]; unmarked: string[] } {
  const schemas = new Schemas(document.components.schemas);
  const known = new Map(
    contract.operations.map((operation) => [`${operation.method} ${shapeOf(operation.path)}`, operation]),
  );
  const operations: string[] = [];
  const unmarked: string[] = [];
  const note = (what: string, marked: { 'x-since'?: string }) => {
    if (!['1.5', 'muster'].includes(marked['x-since'] ?? '')) unmarked.push(what);
  };
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, served] of Object.entries(methods)) {
      const name = `${method.toUpperCase()} ${path}`;
      const operation = known.get(`${method.toUpperCase()} ${shapeOf(path)}`);
      if (operation) {
        const isKnown = (one: { name: string; in: string }) =>
          one.in === 'path' || operation.params.some((own) => own.name === one.name);
        const extra = (served.parameters ?? []).filter((one) => !isKnown(one));
        for (const parameter of extra) note(`${name}: parameter ${parameter.name}`, parameter);
      } else if (path.startsWith('/api/')) {
        operations.push(name);
        note(name, served);
      }
    }
  }
  for (const [record, fields] of Object.entries(contract.records)) {
    const name = schemas.nameOf(record);
    const { properties = {} } = name === undefined ? {} : schemas.named(name);
    for (const [field, served] of Object.entries(properties)) {
      if (!Object.hasOwn(fields, field)) note(`${name}.${field}`, served);
    }
  }
  return { operations, unmarked };
}

function compareOperation(
  wanted: ContractOperation,
  served: Operation,
  contract: Contract,
  schemas: Schemas,
): string[] {
  return [
    ...wanted.params.flatMap((parameter) => compareParameter(parameter, served, schemas)),
    ...compareStatuses(wanted, served),
    ...compareBody(wanted.body, served, contract, schemas),
    ...compareResponse(wanted.response, served, schemas),
  ];
}

function compareParameter(
  wanted: ContractOperation['params'][number],
  { parameters = [] }: Operation,
  schemas: Schemas,
): string[] {
  const name = `parameter ${wanted.name}`;
  // The template of the path is found by its shape, whatever its parameters are called.
  const ofPath = parameters.filter((one) => one.in === 'path');
  const served =
    parameters.find((one) => one.in === wanted.in && one.name === wanted.name) ??
    (wanted.in === 'path' && ofPath.length === 1 ? ofPath[0] : undefined);
  if (!served) return [`${name} does not exist`];
  const differences = compareTypes(wanted.type, served.schema, schemas).map((difference) => `${name} ${difference}`);
  if ((served.required ?? false) !== wanted.required) differences.push(`${name} ${mustBe(wanted.required)}`);
  if ('default' in wanted && served.schema?.default !== wanted.default) {
    differences.push(`${name} has default ${String(served.schema?.default)}, not ${String(wanted.default)}`);
  }
  return differences;
}

/** Every status that is stated stands in the document; those of errors with the record of errors. */
function compareStatuses({ statedStatuses }: ContractOperation, { responses }: Operation): string[] {
  const stated = statedStatuses.match(/\b[2-5]\d\d\b/g) ?? [];
  return stated.flatMap((status) => {
    const served = responses[status];
    if (!served) return [`status ${status} does not exist`];
    const isError = served.content?.['application/json']?.schema !== undefined;
    return status.startsWith('2') || isError ? [] : [`status ${status} has no record`];
  });
}

function compareBody(
  wanted: ContractOperation['body'],
  served: Operation,
  contract: Contract,
  schemas: Schemas,
): string[] {
  if (!wanted) return [];
  const body = served.requestBody;
  if (!body) return ['body does not exist'];
  const schema = body.content?.['application/json']?.schema;
  const differences = compareTypes(wanted.type, schema, schemas).map((difference) => `body ${difference}`);
  // Where a member of the body is required, so is the body, whether the contract says so or not.
  const mayBeRequired = wanted.required || requiresMembers(wanted.type, contract);
  if (wanted.required && !body.required) differences.push('body is not required');
  if (body.required && !mayBeRequired) differences.push('body is required');
  return differences;
}

function compareResponse(wanted: string | null, { responses }: Operation, schemas: Schemas): string[] {
  if (wanted === null) return [];
  const success = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1];
  if (wanted === 'text/html') return success?.content?.[wanted] ? [] : ['answer is not text/html'];
  const schema = success?.content?.['application/json']?.schema;
  return compareTypes(wanted, schema, schemas).map((difference) => `answer ${difference}`);
}

function compareRecord(record: string, contract: Contract, schemas: Schemas): string[] {
  const name = schemas.nameOf(record);
  if (name === undefined) return ['does not exist'];
  const { properties = {} } = schemas.named(name);
  return Object.entries(contract.records[record]!).flatMap(([field, wanted]) => {
    const served = properties[field];
    if (!served && hasOtherSpelling(field, Object.keys(properties))) return [];
    if (!served) return [`${field} does not exist`];
    const differences = compareTypes(wanted.type, served, schemas).map((difference) => `${field} ${difference}`);
    return wanted.writeOnly && !served.writeOnly ? [...differences, `${field} is not marked writeOnly`] : differences;
  });
}

const requiresMembers = (record: string, { records }: Contract): boolean =>
  Object.values(records[record] ?? {}).some((field) => field.required);
const mustBe = (required: boolean): string => (required ? 'is not required' : 'is required');
