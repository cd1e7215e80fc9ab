/** Ids of tasks are those of one cluster, so their pages lead to the same request elsewhere. */
export const pathElsewhere = (path: string): string => {
  const [, taskId] = /^\/task\/([^/]+)/.exec(path) ?? [];
  const requestId =
    taskId === undefined ? undefined : /^(.+)-[^-]+-\d{13}-\d+-[^-]+-[^-]+$/.exec(decodeURIComponent(taskId))?.[1];
  return (requestId === undefined ? path : `/request/${encodeURIComponent(requestId)}`).replace(/^\//, '');
};
