import type { Deploy, Request, TimeWindow } from 'muster-client';
import { formatDuration } from '../../ui/duration';
import { inWords } from '../../ui/words';

/** What is set of a rule, in words; nothing, where it is not. */
export type Rule = readonly [name: string, text: string];

type TextOfTime = (at: number) => string;

const ms = (value: number | undefined): string | undefined => (value === undefined ? undefined : formatDuration(value));
const joined = (...parts: readonly (string | false | undefined)[]): string | undefined => {
  const given = parts.filter(Boolean);
  return given.length === 0 ? undefined : given.join(', ');
};
const named = (name: string, text: string | number | undefined): string | false =>
  text !== undefined && `${name} ${text}`;
const given = (rules: readonly (readonly [string, string | undefined])[]): readonly Rule[] =>
  rules.filter((rule): rule is Rule => rule[1] !== undefined);

/** Windows in words. A schedule without a zone has that of its owner. */
export const windowsText = (windows: readonly TimeWindow[], zone: string | undefined, shown: TextOfTime): string =>
  windows
    .map(({ schedule, scheduleTimeZone = zone ?? 'UTC', from = 0, to = 0, durationMillis = 0 }) =>
      schedule === undefined
        ? `${shown(from)} to ${shown(to)}`
        : `${schedule} (${scheduleTimeZone}) for ${formatDuration(durationMillis)}`,
    )
    .join('; ');

/** What a request says of its times, its failures and what it follows. `shown` writes a time. */
export function rulesOfRequest(request: Request, shown: TextOfTime): readonly Rule[] {
  const { schedules, missedRuns, exclusions, deployWindows, startAt, endAt, retry, restart, keepRuns, autoscale } =
    request;
  const schedule = request.schedule ?? request.quartzSchedule;
  const zoned = (of: { schedule?: string; scheduleTimeZone?: string }): string =>
    `${of.schedule ?? ''} (${of.scheduleTimeZone ?? request.scheduleTimeZone ?? 'UTC'})`;
  const windowed = (windows: readonly TimeWindow[] | undefined): string | undefined =>
    windows && windowsText(windows, request.scheduleTimeZone, shown);
  return given([
    [
      'Schedule',
      schedules ? schedules.map(zoned).join('; ') : schedule === undefined ? undefined : zoned({ schedule }),
    ],
    ['Overlapping runs', request.overlapPolicy && inWords(request.overlapPolicy)],
    [
      'Missed times',
      missedRuns && joined(inWords(missedRuns.policy), named('late by at most', ms(missedRuns.withinMillis))),
    ],
    ['Spread over', ms(request.scheduleJitterMillis)],
    ['No runs', windowed(exclusions)],
    [
      'Runs from, until',
      joined(startAt !== undefined && `from ${shown(startAt)}`, endAt !== undefined && `until ${shown(endAt)}`),
    ],
    ['Most runs', request.maxRuns?.toString()],
    [
      'Retries',
      retry &&
        joined(
          String(retry.attempts),
          named('after', ms(retry.delayMillis)),
          named('each delay times', retry.backoffFactor),
          named('at most', ms(retry.maxDelayMillis)),
          named('of exit codes', retry.onExitCodes?.join(' ')),
          named('not of exit codes', retry.notOnExitCodes?.join(' ')),
          retry.onTimeLimit === false && 'not after the time limit',
          retry.onLost === false && 'not of lost tasks',
        ),
    ],
    ['Paused after', joined(named('failed runs in a row:', request.pauseAfterFailures))],
    [
      'Restarts',
      restart &&
        (joined(
          named('first after', ms(restart.initialDelayMillis)),
          named('each delay times', restart.backoffFactor),
          named('at most', ms(restart.maxDelayMillis)),
          named('counted anew after', ms(restart.resetAfterMillis)),
          named('most in a row', restart.maxRestarts),
        ) ??
          'with delays that grow'),
    ],
    [
      'Autoscaling',
      autoscale &&
        joined(
          `${autoscale.min} to ${autoscale.max} instances by ${autoscale.metric}`,
          named('target', autoscale.target),
          named('removed after', ms(autoscale.scaleDownDelayMillis)),
          named('at once', autoscale.stepLimit),
        ),
    ],
    [
      'Follows',
      request.after &&
        joined(
          request.after.map(({ requestId, on }) => `${inWords(on)} of ${requestId}`).join(', '),
          request.afterMode === 'ANY' && 'each by itself',
          request.argsFrom === 'PARENT' && 'with its arguments',
        ),
    ],
    ['Deploys only', windowed(deployWindows)],
    [
      'Concurrency group',
      request.concurrencyGroup && `${request.concurrencyGroup.name}, at most ${request.concurrencyGroup.limit}`,
    ],
    [
      'Kept runs',
      keepRuns &&
        joined(
          keepRuns.count !== undefined && `the newest ${keepRuns.count}`,
          keepRuns.days !== undefined && `those of ${keepRuns.days} days`,
        ),
    ],
  ]);
}

/** What a deploy says of the health and the end of its tasks, and of the programs around the main ones. */
export function rulesOfDeploy({
  healthcheck,
  killSignal,
  killGracePeriodMillis,
  preStop,
  tasks,
}: Deploy): readonly Rule[] {
  const liveness = healthcheck?.liveness;
  return given([
    ['Health check', healthcheck && joined(healthcheck.type ?? 'HTTP', healthcheck.command ?? healthcheck.uri)],
    [
      'Liveness',
      liveness &&
        joined(
          `each ${liveness.intervalSeconds ?? 10} s`,
          `${liveness.failureThreshold ?? 3} failures in a row`,
          liveness.uri,
          liveness.action === 'NONE' ? 'only reported' : 'then replaced',
        ),
    ],
    [
      'Before its end',
      preStop && joined(preStop.command ?? preStop.http?.uri, named('at most', ms(preStop.timeoutMillis))),
    ],
    ['Init steps', namesOf(tasks?.init)],
    ['Sidecars', namesOf(tasks?.sidecars)],
    ['Post steps', namesOf(tasks?.post)],
    ['End', joined(killSignal, named('killed after', ms(killGracePeriodMillis)))],
  ]);
}

const namesOf = (programs: readonly { readonly name: string }[] | undefined): string | undefined =>
  programs?.map(({ name }) => name).join(', ');
