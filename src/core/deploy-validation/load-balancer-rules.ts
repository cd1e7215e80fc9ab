import { problem, type DeployRule } from './context.js';

/** The load balancer has to know where it puts the service, and under which path. */
export const loadBalancedRule: DeployRule = ({ serviceBasePath, loadBalancerGroups }, { request, settings }) => {
  if (!request.loadBalanced || settings.loadBalancerUri === undefined) return [];
  const because = 'is required for a load balanced request';
  return [
    ...problem(!serviceBasePath, 'serviceBasePath', 'required', because),
    ...problem(!loadBalancerGroups?.length, 'loadBalancerGroups', 'required', `${because}, with at least one group`),
  ];
};
