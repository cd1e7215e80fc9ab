import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ClusterDriver } from '../../src/cluster/cluster-driver.js';
import { cpuMillisOf } from '../support/cpu-time.js';
import { startTestApp, type TestApp } from '../support/test-app.js';
import { type Call, deploy, deployOf, request, wrong } from './wrong-calls.js';

/** Rules of docs/validation.md, by section and number in it, which a single call to a server with the usual settings can break. */
const page = readFileSync(new URL('../../docs/validation.md', import.meta.url), 'utf8');
const rules = [...page.matchAll(/^- (.*?→ (\d+).*)$/gm)].map(([, text = '', status]) => ({
  text,
  status: Number(status),
}));

/** Rules that take more than these calls to be broken; other tests break them. */
const elsewhere = [
  /^`Host`|^body: not larger|^content of files/,
  /at a time|at once|^any call: not while|^bodies of|^body: sent within|^calls (at once|that change)|so many (of|that wait|at a time)|deploys in use|searches of one caller/,
  /^(event streams|`token` of a browser|signing a browser|tokens|wrong credentials|webhooks that are tested|shell commands of a task|notes of a task)/,
  // Settings that are not the usual ones, or parts that this server has not.
  /if the setting requires|search for logs|where there is|if it has an effect|default `\[\]`|allowedUploaderBuckets|allowedParameters|allowedTargets|allowedRunUsers|artifactStore|default none/,
  /containers?\.(required|allowedHostPaths|allowedVolumes)/,
  // What a cluster refuses, and one that is simulated takes.
  /^`(uris`, `extraArtifacts|outputFile`, `filename|user`, `executorData.user`: an|runAsUserOverride|containerInfo\.docker\.(privileged|network|image`, ))/,
  // A state of the request, machine or task.
  /^the request:|^a backfill: not|^`runId` with|^answers to a gate|^a bounce: (enough|of no|not)|^a run: (not|ON_DEMAND)|^a kill|^change of a machine|^deleting|^`instances`: (times|enough|no more)/,
  /^(decommission|action that|`runShellCommandBeforeKill`|`options` of it|`id` of dead letters|`type` of a note|`title` of it|`message` of it|`path` of a file|`grep` of it|`starredRequestIds`|id of a user)/,
  /^(`containerInfo\.(volumes|networkInfos|cluster)|`containerInfo\.docker\.portMappings`, |`containerInfo`: a machine|`containerInfo\.docker\.(image`: from|parameters)|ports of a container|`env`, `taskEnv`, `envOverrides` with)/,
];

describe('wrong inputs of docs/validation.md', () => {
  let app: TestApp<ClusterDriver>;
  const send = async ([method, path, body, headers]: Call) => {
    const answer = await fetch(`${app.url}/api/${path}`, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: answer.status, said: await answer.text() };
  };
  const good = async (call: Call): Promise<void> => expect(await send(call)).toMatchObject({ status: 200 });
  beforeAll(async () => {
    app = await startTestApp();
    await good(request({ id: 'svc' }));
    await good(request({ id: 'many', instances: 25 }));
    await good(request({ id: 'job', requestType: 'ON_DEMAND' }));
    await good(deploy({ id: 'd1' }));
    await good(deployOf('job', { id: 'd1' }));
    await good(request({ id: 'cron', requestType: 'SCHEDULED', schedule: '0 0 * * *' }));
    await good(deployOf('cron', { id: 'd1' }));
  });
  afterAll(() => app.close());

  const limitMillis = 50;
  /** CPU of both ends in the cheapest of three calls: what the machine does beside only adds to it. */
  const leastCpuMillisOf = async (call: Call): Promise<number> => {
    const millis = [];
    for (let count = 0; count < 3; count++) millis.push(await cpuMillisOf(() => send(call)));
    return Math.min(...millis);
  };

  test('each is refused with the status of its rule, with at most 50 ms of CPU', async () => {
    const told: string[] = [];
    for (const [beginning, ...calls] of wrong) {
      const rule = rules.find((each) => each.text.startsWith(beginning));
      if (rule === undefined) told.push(`the page has no rule '${beginning}'`);
      for (const call of calls) {
        // The first call makes what is made once.
        const { status, said } = await send(call);
        if (status !== rule?.status) told.push(`${beginning}: ${status}, not ${rule?.status}: ${said.slice(0, 150)}`);
        const millis = await leastCpuMillisOf(call);
        // On a machine that others keep busy the same work takes more CPU, too.
        const usual = millis <= limitMillis ? 0 : await leastCpuMillisOf(['GET', 'requests/ids']);
        if (millis > Math.max(limitMillis, 25 * usual))
          told.push(`${beginning}: ${millis.toFixed(0)} ms of CPU, a read ${usual.toFixed(0)}`);
      }
    }
    expect(told).toEqual([]);
  }, 180_000);

  test('each rule is tried here, or needs a state or settings that other tests make', () => {
    const left = rules.filter(
      ({ text: rule }) =>
        !wrong.some(([beginning]) => rule.startsWith(beginning)) && !elsewhere.some((pattern) => pattern.test(rule)),
    );
    expect(left.map(({ text: rule }) => rule)).toEqual([]);
    expect(wrong.length).toBeGreaterThan(75);
  });
});
