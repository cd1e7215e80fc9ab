import type { RequestGroups } from '../../../core/authorization/index.js';
import { parsePendingTaskId, parseTaskId } from '../../../core/task-id.js';
import { isMap } from '../../../platform/http/fields.js';
import { isNotGiven } from '../../../platform/http/query.js';

/** Input of a call, before anything of it was checked. */
export interface CallArguments {
  params: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  body: unknown;
}

/** A request that a call is about; `at`: as it was at that moment, in epoch milliseconds, which a task of it began at. */
export interface NamedRequest {
  id: string;
  at?: number;
}

type Names = (call: CallArguments) => NamedRequest[];

/** The texts among one or many values; the operation refuses the others. */
export const texts = (value: unknown): string[] =>
  [value].flat().filter((text): text is string => typeof text === 'string' && text !== '');
const named = (value: unknown): NamedRequest[] => texts(value).map((id) => ({ id }));

const member = (value: unknown, name: string): unknown => (isMap(value) ? value[name] : undefined);
function requestOfTask(id: string): NamedRequest[] {
  const taskId = parseTaskId(id);
  return taskId ? [{ id: taskId.requestId, at: taskId.startedAt }] : [];
}
const requestOfPendingTask = (id: string): NamedRequest[] => named(parsePendingTaskId(id)?.requestId);

export const inPath: Names = ({ params }) => named(params['requestId']);
/** Clients send the words for "not given" as the value of a parameter, and of parameters only. */
export const inQuery: Names = ({ query }) => named(query['requestId']).filter(({ id }) => !isNotGiven(id));
export const ofTask: Names = ({ params }) => texts(params['taskId']).flatMap(requestOfTask);
export const ofPendingTask: Names = ({ params }) =>
  texts(params['pendingTaskId'] ?? params['scheduledTaskId']).flatMap(requestOfPendingTask);
/** A path to a file of a task contains the id of the task, encoded like a part of a URL. */
export const ofFile: Names = ({ query }) =>
  texts(query['path'])
    .flatMap((path) => path.split('/').map(decoded))
    .flatMap(requestOfTask);

export const inBody =
  (name: string): Names =>
  ({ body }) =>
    named(member(body, name));
export const groupInBody = ({ body }: CallArguments): string | undefined => texts(member(body, 'id'))[0];
export const ofSentDeploy: Names = ({ body }) => named(member(member(body, 'deploy'), 'requestId'));
/** A request and a deploy that are sent together. */
export const ofApplied: Names = ({ body }) => [
  ...named(member(member(body, 'request'), 'id')),
  ...named(member(member(body, 'deploy'), 'requestId')),
];
export const sends = (name: 'request' | 'deploy', { body }: CallArguments): boolean => isMap(member(body, name));
export const ofLogSearch: Names = ({ body }) => {
  const sent = member(body, 'requestsAndDeploys');
  return [...named(isMap(sent) ? Object.keys(sent) : []), ...texts(member(body, 'taskIds')).flatMap(requestOfTask)];
};

export const sentGroups = ({ body }: CallArguments): RequestGroups => groupsIn(body);
const groupsOfMember =
  (name: string) =>
  ({ body }: CallArguments): RequestGroups | undefined => {
    const request = member(body, name);
    return isMap(request) ? groupsIn(request) : undefined;
  };
export const groupsOfUpdatedRequest = groupsOfMember('updatedRequest');
export const groupsOfAppliedRequest = groupsOfMember('request');

const parentsIn = (request: unknown): NamedRequest[] => {
  const [after, startAfter] = [member(request, 'after'), member(request, 'startAfter')];
  return [
    ...(Array.isArray(after) ? after.flatMap((parent) => named(member(parent, 'requestId'))) : []),
    ...(Array.isArray(startAfter) ? startAfter.flatMap((id) => named(id)) : []),
  ];
};
export const sentParents: Names = ({ body }) => parentsIn(body);
export const parentsOfAppliedRequest: Names = ({ body }) => parentsIn(member(body, 'request'));

function groupsIn(value: unknown): RequestGroups {
  const [group] = texts(member(value, 'group'));
  const lists = (name: string): string[] | undefined => {
    const given = member(value, name);
    return given === undefined || given === null ? undefined : texts(given);
  };
  return { group, readWriteGroups: lists('readWriteGroups'), readOnlyGroups: lists('readOnlyGroups') };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // a percent sign that encodes nothing
  }
}
