import { describe, expect, test } from 'vitest';
import type { Deploy } from '../model/deploy.js';
import type { LoadBalancerRequestId } from '../model/load-balancer.js';
import type { Request } from '../model/request.js';
import { makeTaskId } from '../task-id.js';
import { deleteBody, updateBody, upstreamOf, type BalancedTask, type BalancerBodySettings } from './index.js';

const id: LoadBalancerRequestId = { id: 'web-d1-2', requestType: 'DEPLOY', attemptNumber: 3 };
const settings: BalancerBodySettings = { preResolveUpstreamDNS: true, skipDNSPreResolutionForRequests: ['other'] };
const request: Request = { id: 'web', requestType: 'SERVICE', owners: ['ann@example.com'] };
const deploy: Deploy = { requestId: 'web', id: 'd1', serviceBasePath: '/web', loadBalancerGroups: ['g1', 'g2'] };

const task = (changes: Partial<Deploy> = {}, ports = [31_000, 31_001]): BalancedTask => ({
  taskId: makeTaskId({ requestId: 'web', deployId: 'd1', startedAt: 1, instanceNo: 2, host: 'h-1', rackId: 'r-1' }),
  host: 'h-1',
  rackId: 'r-1',
  ports,
  deploy: { ...deploy, ...changes },
});

test('a change names the service in full, and what comes and goes', () => {
  const full: Deploy = {
    ...deploy,
    loadBalancerAdditionalRoutes: ['/other'],
    loadBalancerOptions: { timeouts: { read: 1 } },
    loadBalancerTemplate: 'plain',
    loadBalancerDomains: ['example.com'],
  };
  const old = task({}, [32_000]);
  expect(updateBody(id, { request, deploy: full, add: [task()], remove: [old] }, settings)).toEqual({
    loadBalancerRequestId: 'web-d1-2-DEPLOY-3',
    loadBalancerService: {
      serviceId: 'web',
      owners: ['ann@example.com'],
      serviceBasePath: '/web',
      additionalPaths: ['/other'],
      loadBalancerGroups: ['g1', 'g2'],
      options: { timeouts: { read: 1 } },
      templateName: 'plain',
      domains: ['example.com'],
      edgeCacheDomains: [],
      preResolveUpstreamDNS: true,
    },
    addUpstreams: [{ upstream: 'h-1:31000', requestId: 'web-d1-2-DEPLOY-3', rackId: 'r-1', group: 'default' }],
    removeUpstreams: [{ upstream: 'h-1:32000', requestId: 'web-d1-2-DEPLOY-3', rackId: 'r-1', group: 'default' }],
    replaceUpstreams: [],
    action: 'UPDATE',
    noValidate: false,
    noReload: false,
    upstreamUpdateOnly: false,
    noDuplicateUpstreams: true,
  });
});

describe('the service', () => {
  const serviceOf = (changes: Partial<Deploy>, of = request, given = settings) =>
    updateBody(id, { request: of, deploy: { ...deploy, ...changes }, add: [], remove: [] }, given).loadBalancerService;
  test('has the id that its deploy gives it', () => {
    expect(serviceOf({ loadBalancerServiceIdOverride: 'shop' }).serviceId).toBe('shop');
  });
  test('resolves host names beforehand only where the settings say so and except the request', () => {
    expect(serviceOf({}, { ...request, id: 'other' }).preResolveUpstreamDNS).toBe(false);
    expect(serviceOf({}, request, { ...settings, preResolveUpstreamDNS: false }).preResolveUpstreamDNS).toBe(false);
  });
  test('is deleted by the id of its request, with base path and groups only', () => {
    const body = deleteBody({ ...id, requestType: 'DELETE' }, { requestId: 'web', groups: ['g1'], basePath: '/web' });
    expect(body).toMatchObject({
      loadBalancerRequestId: 'web-d1-2-DELETE-3',
      action: 'DELETE',
      addUpstreams: [],
      removeUpstreams: [],
    });
    expect(body.loadBalancerService).toMatchObject({
      serviceId: 'web',
      serviceBasePath: '/web',
      loadBalancerGroups: ['g1'],
      owners: [],
    });
  });
});

describe('an upstream', () => {
  test('is the port that the task’s own deploy names', () => {
    expect(upstreamOf(task({ loadBalancerPortIndex: 1 }), id, settings)?.upstream).toBe('h-1:31001');
  });
  test('of a task without that port there is none, and the task is left out', () => {
    const portless = task({ loadBalancerPortIndex: 2 });
    expect(upstreamOf(portless, id, settings)).toBeUndefined();
    expect(updateBody(id, { request, deploy, add: [portless], remove: [] }, settings).addUpstreams).toEqual([]);
  });
  test.each<{ name: string; deploy: Partial<Deploy>; label?: string; group: string }>([
    { name: 'default where nothing is said', deploy: {}, group: 'default' },
    { name: 'that of the deploy', deploy: { loadBalancerUpstreamGroup: 'blue' }, group: 'blue' },
    {
      name: 'that of the label before that of the deploy',
      deploy: { loadBalancerUpstreamGroup: 'blue', clusterLabels: [{ key: 'pool', value: 'green' }] },
      label: 'pool',
      group: 'green',
    },
    {
      name: 'the label of its own instance before that of all',
      deploy: {
        clusterLabels: [{ key: 'pool', value: 'green' }],
        clusterTaskLabels: { 2: [{ key: 'pool', value: 'red' }] },
      },
      label: 'pool',
      group: 'red',
    },
    {
      name: 'not that of another label',
      deploy: { loadBalancerUpstreamGroup: 'blue', clusterLabels: [{ key: 'zone', value: 'green' }] },
      label: 'pool',
      group: 'blue',
    },
  ])('stands in the group: $name', ({ deploy: changes, label, group }) => {
    const given = { ...settings, taskLabelForLoadBalancerUpstreamGroup: label };
    expect(upstreamOf(task(changes), id, given)?.group).toBe(group);
  });
});
