import { expect, test } from 'vitest';
import { oldPaths } from './old-links';
import { pathElsewhere } from './shell/path-elsewhere';

test.each([
  ['/requests/active/all/', '/requests?state=ACTIVE'],
  ['/requests/all/SERVICE,WORKER/web', '/requests?type=SERVICE%2CWORKER&q=web'],
  ['/requests/shop/cooldown', '/requests?state=SYSTEM_COOLDOWN&group=shop'],
  ['/requests/cleanup', '/requests?state=cleaning'],
  ['/tasks/scheduled/all/web', '/tasks?state=scheduled&q=web'],
  ['/agents/active', '/slaves?state=ACTIVE'],
  ['/slaves/decommissioning', '/slaves?state=DECOMMISSIONING'],
  ['/racks/frozen', '/racks?state=FROZEN'],
  ['/task/a-1/old-tail/a-1/stdout', '/task/a-1/tail/a-1/stdout'],
  ['/request/web/less/stdout', '/request/web/tail/stdout'],
  ['/nothing/of/ours', undefined],
])('%s leads to %s', (path, target) => expect(oldPaths(path)).toBe(target));

test.each([
  ['/requests', 'requests'],
  ['/task/my-web-v1-1767225600000-1-host_a-rack1', 'request/my-web'],
  ['/task/odd', 'task/odd'],
])('in another cluster %s is %s', (path, elsewhere) => expect(pathElsewhere(path)).toBe(elsewhere));
