import type { ClusterTaskLabel } from '../model/deploy.js';
import { problem, type DeployRule } from './context.js';

/** Labels may be given as a map, as a list or as both; both must say the same, in whatever order. */
export const labelRule: DeployRule = ({ labels, clusterLabels, taskLabels, clusterTaskLabels }) => [
  ...problem(differ(labels, clusterLabels), 'clusterLabels', 'match', 'must name the same labels as labels'),
  ...problem(
    taskLabels !== undefined && clusterTaskLabels !== undefined && taskLabelsDiffer(taskLabels, clusterTaskLabels),
    'clusterTaskLabels',
    'match',
    'must name the same labels as taskLabels',
  ),
];

function differ(map: Record<string, string> | undefined, list: readonly ClusterTaskLabel[] | undefined): boolean {
  if (!map || !list) return false;
  const asPairs = new Set(list.map(({ key, value }) => JSON.stringify([key, value])));
  const ofMap = Object.entries(map).map((pair) => JSON.stringify(pair));
  return asPairs.size !== ofMap.length || ofMap.some((pair) => !asPairs.has(pair));
}

function taskLabelsDiffer(
  maps: Record<string, Record<string, string>>,
  lists: Record<string, readonly ClusterTaskLabel[]>,
): boolean {
  const instances = new Set([...Object.keys(maps), ...Object.keys(lists)]);
  return [...instances].some((instance) => differ(maps[instance] ?? {}, lists[instance] ?? []));
}
