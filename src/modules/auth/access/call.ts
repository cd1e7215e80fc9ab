import type { RequestGroups } from '../../../core/authorization/index.js';
import { parsePendingTaskId, parseTaskId } from '../../../core/task-id.js';
import { isMap } from '../../../platform/http/fields.js';
import { isNotGiven } from '../../../platform/http/query.js';

/** What a call brings, before anything of it was checked. */
export interface Call {
  params: Readonly<Record<string, unknown>>;
  query: Readonly<Record<string, unknown>>;
  body: unknown;
}

type Ids = (call: Call) => string[];

/** The texts among one or many values; the operation refuses the others. */
const texts = (value: unknown): string[] =>
  [value].flat().filter((text): text is string => typeof text === 'string' && !isNotGiven(text));

const member = (value: unknown, name: string): unknown => (isMap(value) ? value[name] : undefined);
const requestOfTask = (id: string): string[] => [parseTaskId(id)?.requestId ?? []].flat();
const requestOfPendingTask = (id: string): string[] => [parsePendingTaskId(id)?.requestId ?? []].flat();

export const inPath: Ids = ({ params }) => texts(params['requestId']);
export const inQuery: Ids = ({ query }) => texts(query['requestId']);
export const ofTask: Ids = ({ params }) => texts(params['taskId']).flatMap(requestOfTask);
export const ofPendingTask: Ids = ({ params }) =>
  texts(params['pendingTaskId'] ?? params['scheduledTaskId']).flatMap(requestOfPendingTask);
/** A path to a file of a task contains the id of the task, encoded like a part of a URL. */
export const ofFile: Ids = ({ query }) =>
  texts(query['path'])
    .flatMap((path) => path.split('/').map(decoded))
    .flatMap(requestOfTask);

export const inBody =
  (name: string): Ids =>
  ({ body }) =>
    texts(member(body, name));
export const ofSentDeploy: Ids = ({ body }) => texts(member(member(body, 'deploy'), 'requestId'));
export const ofLogSearch: Ids = ({ body }) => {
  const named = member(body, 'requestsAndDeploys');
  return [...(isMap(named) ? Object.keys(named) : []), ...texts(member(body, 'taskIds')).flatMap(requestOfTask)];
};

export const sentGroups = ({ body }: Call): RequestGroups => groupsIn(body);
export const groupsOfUpdatedRequest = ({ body }: Call): RequestGroups | undefined => {
  const updated = member(body, 'updatedRequest');
  return isMap(updated) ? groupsIn(updated) : undefined;
};

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
