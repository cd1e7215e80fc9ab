import { enumerations } from 'muster-client';
import { view } from '../view';
import { valueAt, type Document } from './document';
import { check, choice, json, lines, map, number, same, text, type FieldGroup } from './fields';

const isChecked =
  (...types: string[]) =>
  (document: Document): boolean =>
    types.includes(String(valueAt(document, 'healthcheck.type') ?? 'HTTP'));
const byCommand = { when: isChecked('COMMAND') };
const byHttp = { when: isChecked('HTTP') };
const byPort = { when: isChecked('HTTP', 'TCP', 'GRPC') };
const balanced = { when: () => view.loadBalancingEnabled };

export const deployGroups: readonly FieldGroup[] = [
  {
    title: 'Program',
    isOpen: true,
    fields: [
      text('id', 'Id', { help: 'Of this version; no other deploy of the request has it' }),
      text('command', 'Command'),
      lines('arguments', 'Arguments, one a line'),
      check('shell', 'By a shell'),
      text('containerInfo.docker.image', 'Image of a container'),
      number('resources.cpus', 'Cores', { placeholder: String(view.defaultCpus) }),
      number('resources.memoryMb', 'Memory in MB', { placeholder: String(view.defaultMemory) }),
      number('resources.diskMb', 'Disk in MB', { placeholder: String(view.defaultDisk) }),
      number('resources.numPorts', 'Ports', { placeholder: '0' }),
      map('env', 'Environment, NAME=value a line'),
      map('labels', 'Labels, NAME=value a line'),
    ],
  },
  {
    title: 'Health check',
    fields: [
      choice('healthcheck.type', 'Kind of check', same(...enumerations.HealthcheckType), {
        help: 'Empty: HTTP',
      }),
      text('healthcheck.command', 'Command of the check', { help: 'Exit code 0 is healthy', ...byCommand }),
      text('healthcheck.uri', 'Path', { placeholder: '/health', ...byHttp }),
      choice('healthcheck.protocol', 'Protocol', same('HTTP', 'HTTPS', 'HTTP2', 'HTTPS2'), byHttp),
      choice('healthcheck.method', 'Method', same('GET', 'POST'), byHttp),
      number('healthcheck.portIndex', 'Index of its port', { placeholder: '0', ...byPort }),
      number('healthcheck.intervalSeconds', 'Seconds between two', {
        placeholder: String(view.defaultHealthcheckIntervalSeconds),
      }),
      number('healthcheck.responseTimeoutSeconds', 'Seconds for one', {
        placeholder: String(view.defaultHealthcheckTimeoutSeconds),
      }),
      number('healthcheck.startupTimeoutSeconds', 'Seconds until it has to listen', {
        placeholder: String(view.defaultStartupTimeoutSeconds),
      }),
      number('healthcheck.startupDelaySeconds', 'Seconds before the first'),
      number('healthcheck.startupIntervalSeconds', 'Seconds between two while it starts'),
      number('healthcheck.maxRetries', 'How many may fail', { placeholder: String(view.defaultHealthcheckMaxRetries) }),
      text('healthcheck.healthcheckResultFilePath', 'File in place of a call'),
      check('skipHealthchecksOnDeploy', 'Skip them for this deploy'),
      number('considerHealthyAfterRunningForSeconds', 'Without a check: healthy after seconds'),
      number('deployHealthTimeoutSeconds', 'Seconds until the deploy is overdue'),
    ],
  },
  {
    title: 'Liveness: checks that go on',
    fields: [
      number('healthcheck.liveness.intervalSeconds', 'Seconds between two', { placeholder: '10' }),
      number('healthcheck.liveness.failureThreshold', 'Failures in a row that count', { placeholder: '3' }),
      number('healthcheck.liveness.timeoutSeconds', 'Seconds for one'),
      text('healthcheck.liveness.uri', 'Path', { help: 'Empty: that of the health check', ...byHttp }),
      choice('healthcheck.liveness.action', 'An unhealthy task is', [
        ['RESTART', 'replaced'],
        ['NONE', 'reported'],
      ]),
      number('healthcheck.liveness.maxUnhealthyReplacements', 'Most replacements at once', {
        help: 'Empty: a tenth of the instances',
      }),
    ],
  },
  {
    title: 'End of a task',
    fields: [
      choice('killSignal', 'Signal that asks it to end', same(...enumerations.KillSignal)),
      number('killGracePeriodMillis', 'Time until it is killed in ms'),
      text('preStop.command', 'Command before the signal'),
      text('preStop.http.uri', 'Path that is called before the signal'),
      number('preStop.http.portIndex', 'Index of the port of this call', { placeholder: '0' }),
      number('preStop.timeoutMillis', 'Time for the command or the call in ms', {
        help: 'Empty: half of the time above',
      }),
    ],
  },
  {
    title: 'Steps',
    fields: [
      choice('deployStrategy', 'What comes first', [
        ['NEW_FIRST', 'new tasks start, then old ones end'],
        ['OLD_FIRST', 'old tasks end, then new ones start'],
      ]),
      number('maxUnavailable', 'Instances that may be missing', {
        placeholder: '1',
        when: (document) => valueAt(document, 'deployStrategy') === 'OLD_FIRST',
      }),
      number('deployInstanceCountPerStep', 'Instances a step'),
      number('deployStepWaitTimeMs', 'Pause between steps in ms'),
      check('autoAdvanceDeploySteps', 'Advance by itself'),
      number('maxTaskRetries', 'Retries of a task'),
      json('canaryDeploySettings', 'Canary, as JSON'),
    ],
  },
  {
    title: 'Files, containers, other programs, own executor',
    fields: [
      json('tasks', 'Programs before, beside and after the command, as JSON', {
        help: 'With init, sidecars and post; each has a name and a command',
      }),
      json('uris', 'Files to fetch, as JSON'),
      json('containerInfo', 'Container, as JSON', { help: 'Image, network, volumes, port mappings, parameters' }),
      text('customExecutorCmd', 'Command of an own executor'),
      text('customExecutorId', 'Id of an own executor'),
      json('executorData', 'Data of the executor, as JSON', {
        help: 'Artifacts of all three kinds, user, limits, logs',
      }),
      json('runImmediately', 'Run at once after the deploy, as JSON'),
    ],
  },
  {
    title: 'Load balancer',
    fields: [
      text('serviceBasePath', 'Path of the service', balanced),
      lines('loadBalancerGroups', 'Groups, one a line', balanced),
      number('loadBalancerPortIndex', 'Index of its port', balanced),
      json('loadBalancerOptions', 'Options, as JSON', balanced),
    ],
  },
];
