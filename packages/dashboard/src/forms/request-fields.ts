import { enumerations } from 'muster-client';
import { view } from '../view';
import type { Document } from './document';
import { check, choice, json, lines, map, number, same, text, time, type FieldGroup } from './fields';

const typeIs =
  (...types: string[]) =>
  (document: Document): boolean =>
    types.includes(String(document['requestType']));
const longRunning = { when: typeIs('SERVICE', 'WORKER') };
const scheduled = { when: typeIs('SCHEDULED') };
const onDemand = { when: typeIs('ON_DEMAND') };
const repeated = { when: typeIs('SCHEDULED', 'ON_DEMAND') };
const jobs = { when: typeIs('SCHEDULED', 'ON_DEMAND', 'RUN_ONCE') };
const hasInstances = (document: Document): boolean =>
  typeIs('SERVICE', 'WORKER', 'ON_DEMAND')(document) || document['overlapPolicy'] === 'ALLOW';
const balanced = { when: () => view.loadBalancingEnabled };

export const requestGroups: readonly FieldGroup[] = [
  {
    title: 'Request',
    isOpen: true,
    fields: [
      text('id', 'Id', { help: 'Letters, digits, - and _' }),
      choice('requestType', 'Type', same('SERVICE', 'WORKER', 'SCHEDULED', 'ON_DEMAND', 'RUN_ONCE')),
      number('instances', 'Instances', { placeholder: '1', when: hasInstances }),
      text('schedule', 'Schedule', { help: 'Cron, Quartz or RFC 5545', ...scheduled }),
      text('quartzSchedule', 'Quartz schedule', scheduled),
      choice('scheduleType', 'Kind of schedule', same(...enumerations.ScheduleType), scheduled),
      text('scheduleTimeZone', 'Time zone of the schedule', { placeholder: 'UTC', ...scheduled }),
      lines('owners', 'Owners, one a line', { help: 'Addresses that are sent mail' }),
      text('group', 'Group'),
      json('deployWindows', 'Deploys start only in these windows, as JSON', {
        help: '[{"schedule": "0 9 * * MON-THU", "durationMillis": 28800000}], or windows with "from" and "to"',
      }),
    ],
  },
  {
    title: 'Runs and retries',
    fields: [
      number('numRetriesOnFailure', 'Retries after a failure', jobs),
      number('retry.attempts', 'Retries with delays', { help: 'In place of the number above', ...jobs }),
      number('retry.delayMillis', 'Delay of the first retry in ms', jobs),
      number('retry.backoffFactor', 'Each delay is so many times the one before', { placeholder: '1', ...jobs }),
      number('retry.maxDelayMillis', 'Longest delay of a retry in ms', jobs),
      number('retry.jitter', 'Share of a delay that is left to chance, 0 to 1', { placeholder: '0', ...jobs }),
      json('retry.onExitCodes', 'Retried exit codes, as JSON', { help: '[75]; empty: all', ...jobs }),
      json('retry.notOnExitCodes', 'Exit codes that are not retried, as JSON', jobs),
      number('pauseAfterFailures', 'Pause after failed runs in a row', repeated),
      number('scheduledExpectedRuntimeMillis', 'Expected run time in ms', scheduled),
      number('taskExecutionTimeLimitMillis', 'Time limit of a task in ms'),
      number('killOldNonLongRunningTasksAfterMillis', 'Old runs are ended after ms', jobs),
      number('waitAtLeastMillisAfterTaskFinishesForReschedule', 'Pause after a task in ms', longRunning),
      check('bounceAfterScale', 'Restart after scaling', longRunning),
      check('skipHealthchecks', 'Skip health checks', longRunning),
      number('maxTasksPerOffer', 'Most tasks on a machine at once'),
      number('taskPriorityLevel', 'Priority, 0 to 1'),
      text('taskLogErrorRegex', 'Expression that finds errors in logs'),
      check('taskLogErrorRegexCaseSensitive', 'It minds upper and lower case'),
    ],
  },
  {
    title: 'Restarts after failures',
    fields: [
      number('restart.initialDelayMillis', 'Delay after the first failure in ms', {
        placeholder: '1000',
        ...longRunning,
      }),
      number('restart.backoffFactor', 'Each further delay is so many times the one before', {
        placeholder: '2',
        ...longRunning,
      }),
      number('restart.maxDelayMillis', 'Longest delay of a restart in ms', { placeholder: '300000', ...longRunning }),
      number('restart.resetAfterMillis', 'Failures count anew after ms without one', {
        placeholder: '600000',
        ...longRunning,
      }),
      number('restart.maxRestarts', 'Most restarts in a row', longRunning),
    ],
  },
  {
    title: 'Autoscaling',
    fields: [
      number('autoscale.min', 'Fewest instances', longRunning),
      number('autoscale.max', 'Most instances', longRunning),
      choice('autoscale.metric', 'Metric', same(...enumerations.AutoscaleMetric), longRunning),
      number('autoscale.target', 'Target', {
        help: 'Percent of CPU, MEMORY; else the load of one instance',
        ...longRunning,
      }),
      text('autoscale.uri', 'Address of the metric', longRunning),
      text('autoscale.valuePath', 'Path to the number in the answer', longRunning),
      text('autoscale.query', 'Query of Prometheus', longRunning),
      number('autoscale.scaleDownDelayMillis', 'Fewer are enough for ms', { placeholder: '300000', ...longRunning }),
      number('autoscale.stepLimit', 'Most instances added or removed at once', longRunning),
    ],
  },
  {
    title: 'Kept runs and shared limits',
    fields: [
      number('keepRuns.count', 'Kept ended tasks', jobs),
      number('keepRuns.days', 'Days for which ended tasks are kept', jobs),
      text('concurrencyGroup.name', 'Concurrency group', {
        help: 'Its requests share a limit of active runs',
        ...jobs,
      }),
      number('concurrencyGroup.limit', 'Most active runs of the group', jobs),
    ],
  },
  {
    title: 'Times of runs',
    fields: [
      choice('overlapPolicy', 'When a run is due and another goes on', same(...enumerations.OverlapPolicy), {
        help: 'SKIP leaves it out, ALLOW runs both, BUFFER_ONE and BUFFER_ALL wait, REPLACE ends the other one',
        ...scheduled,
      }),
      choice('missedRuns.policy', 'Missed times', same(...enumerations.MissedRunPolicy), {
        help: 'LAST runs the newest of them, SKIP none that is too late, ALL each',
        ...scheduled,
      }),
      number('missedRuns.withinMillis', 'A run may start late by ms', scheduled),
      number('scheduleJitterMillis', 'Spread over ms after each time', {
        help: 'A fixed offset that the id gives',
        ...scheduled,
      }),
      json('schedules', 'Several schedules, as JSON', {
        help: 'In place of the schedule: [{"schedule": "0 9 * * MON-FRI", "scheduleTimeZone": "Europe/Paris"}]',
        ...scheduled,
      }),
      json('exclusions', 'Times without runs, as JSON', {
        help: '[{"schedule": "0 22 * * FRI", "durationMillis": 28800000}], or windows with "from" and "to"',
        ...scheduled,
      }),
      time('startAt', 'No run before', scheduled),
      time('endAt', 'No run after', scheduled),
      number('maxRuns', 'Most runs of the schedule', scheduled),
    ],
  },
  {
    title: 'Runs that it follows',
    fields: [
      json('after', 'Requests that it follows, as JSON', {
        help: '[{"requestId": "load", "on": "SUCCESS"}]; on: SUCCESS, FAILURE or END',
        ...onDemand,
      }),
      choice(
        'afterMode',
        'It runs after',
        [
          ['ALL', 'all of them'],
          ['ANY', 'each of them'],
        ],
        onDemand,
      ),
      choice('argsFrom', 'Arguments', [['PARENT', 'of the run that it follows']], onDemand),
    ],
  },
  {
    title: 'Placement',
    fields: [
      choice(
        'slavePlacement',
        'Spread over machines',
        same('SEPARATE', 'OPTIMISTIC', 'GREEDY', 'SEPARATE_BY_DEPLOY', 'SEPARATE_BY_REQUEST', 'SPREAD_ALL_SLAVES'),
      ),
      map('requiredSlaveAttributes', 'Attributes that machines need, NAME=value a line'),
      map('allowedSlaveAttributes', 'Attributes that are let in, NAME=value a line'),
      check('rackSensitive', 'Spread over racks'),
      lines('rackAffinity', 'Racks, one a line'),
      check('hideEvenNumberAcrossRacksHint', 'No hint to spread evenly over racks'),
      check('allowBounceToSameHost', 'A restart may use the same machine', longRunning),
    ],
  },
  {
    title: 'Who may do what, mail, load balancer',
    fields: [
      lines('readWriteGroups', 'Groups that may change it, one a line'),
      lines('readOnlyGroups', 'Groups that may read it, one a line'),
      json('emailConfigurationOverrides', 'Who is sent which mail, as JSON'),
      check('loadBalanced', 'Behind the load balancer', balanced),
    ],
  },
];
