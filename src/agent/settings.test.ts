import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { parsePortRanges, SlaveSetting } from '../platform/settings/local-settings.js';
import { readLocalClusterSettings, thisMachine } from './settings.js';
import { SettingsFile } from '../platform/settings/settings.js';

test('defaults are complete', () => {
  expect(readLocalClusterSettings(undefined)).toEqual({
    sandboxRetentionMillis: 604_800_000,
    sandboxDiskHighWaterPct: 90,
    cleanupAppDirectoryOfFailedTasksAfterMillis: 86_400_000,
    logrotateFrequency: 'DAILY',
    logrotateCount: 20,
    logrotateMaxageDays: 7,
    logrotateDateformat: '%Y%m%d%s',
    logrotateExtrasDateformat: '%Y%m%d',
    logrotateAdditionalFiles: [],
    tailLogLinesToSave: 2_500,
    logRotationTimeoutSeconds: 3_600,
    checkLogSizesEveryMillis: 300_000,
    uploaderInUse: false,
    checkUploadsEverySeconds: 600,
    checkForOpenFiles: true,
    executorMaxUploadThreads: 4,
    maxUploadFileMegabytes: 10_240,
    maxUploadMegabytesPerSecond: 50,
    maxSingleUploadSizeBytes: 104_857_600,
    uploadPartSize: 20_971_520,
    retryCount: 2,
    retryWaitMs: 1_000,
    uploadIdleSeconds: 30,
    objstoreContentHeaders: [],
    cgroups: 'auto',
    tasksRunAs: 'OWN_USER',
    taskUsers: { first: 1_900_000_000, count: 65_536 },
    allowedRunUsers: [],
    deniedRunUsers: ['root'],
    maxProcessesPerTask: 4_096,
    allowedArtifactPaths: [],
    containers: {
      engine: 'auto',
      required: true,
      engineArguments: [],
      createArguments: [],
      dockerPrefix: 'se-',
      sandboxPath: '/mnt/cluster/sandbox',
      runAs: 'TASK_USER',
      imageCacheMegabytes: 20_480,
      imageKeepDays: 14,
      maxDockerPullAttempts: 2,
      dockerClientTimeLimitSeconds: 300,
      dockerStopTimeout: 15,
      dockerInheritVariables: [],
      allowPrivileged: false,
      allowedNetworks: ['BRIDGE', 'NONE'],
      allowedHostPaths: [],
      allowedVolumes: [],
      allowedVolumeDrivers: [],
      allowedParameters: ['entrypoint', 'h', 'hostname', 'init', 'read-only', 'stop-signal', 'w', 'workdir'],
    },
    maxArtifactMegabytes: 2_048,
    maxTaskArtifactMegabytes: 10_240,
    maxArtifactFiles: 100_000,
    artifactTimeoutSeconds: 600,
    artifactCacheMegabytes: 2_048,
    verifyArtifactTls: true,
    artifactSignatureVerificationCommand: ['/usr/bin/gpg', '--verify', '{artifactSignaturePath}', '{artifactPath}'],
    failTaskOnInvalidArtifactSignature: true,
    failOnArtifactWithNoMatchingSignature: false,
    failOnSignatureWithNoMatchingArtifact: false,
    verifyAssignedPorts: true,
    checkThreadsEveryMillis: 5_000,
    maxTaskMessageLength: 80,
    agentHangSeconds: 30,
    honorRunningSentinel: false,
    extraScriptContent: '',
    threadCheckerType: 'CGROUP',
    shellCommands: [],
    shellCommandPrefix: [],
    shellCommandPidPlaceholder: '{PID}',
    shellCommandUserPlaceholder: '{USER}',
    shellCommandPidFile: '.task-pid',
    shellCommandTimeoutMillis: 600_000,
    rackIdAttributeKey: 'rackid',
    defaultRackId: 'DEFAULT',
    requireIsolation: false,
  });
  expect(SlaveSetting.parse({ id: 's1', cpus: 2, memoryMb: 100 })).toMatchObject({
    hostname: 'localhost',
    ports: '31000-31999',
  });
});

test('this machine is a valid slave', () => {
  const machine = thisMachine(tmpdir());
  expect(SlaveSetting.parse(machine)).toEqual(machine);
});

test.each([
  {
    why: 'two slaves of one id',
    value: {
      slaves: [
        { id: 'a', cpus: 1, memoryMb: 1 },
        { id: 'a', cpus: 1, memoryMb: 1 },
      ],
    },
    says: 'slaves: each slave needs an id of its own',
  },
  ...['--memory', '-e', 'ulimit=nofile=1', '--ulimit nofile=1', '--h'].map((word) => ({
    why: `an option without its value: ${word}`,
    value: { containers: { createArguments: ['--init', '--annotation=a=', word] } },
    says: 'containers.createArguments.2: must be a long option',
  })),
  { why: 'an id with a slash', value: { slaves: [{ id: 'a/b', cpus: 1, memoryMb: 1 }] }, says: 'slaves.0.id: must be' },
  ...['..', '.', '', 'a\nb'].flatMap((rack) => [
    {
      why: `a rack that no path could name, by its attribute: ${JSON.stringify(rack)}`,
      value: { slaves: [{ id: 'a', cpus: 1, memoryMb: 1, attributes: { rackid: rack } }] },
      says: 'slaves.0.attributes.rackid: must not be empty, and must not be "." or ".."',
    },
    {
      why: `the same by default: ${JSON.stringify(rack)}`,
      value: { defaultRackId: rack },
      says: 'defaultRackId: must not be empty, and must not be "." or ".."',
    },
  ]),
  { why: 'no cpus', value: { slaves: [{ id: 'a', cpus: 0, memoryMb: 1 }] }, says: 'slaves.0.cpus' },
  {
    why: 'ports backwards',
    value: { slaves: [{ id: 'a', cpus: 1, memoryMb: 1, ports: '9-1' }] },
    says: 'slaves.0.ports: each range',
  },
  {
    why: 'two shell commands of one name',
    value: {
      shellCommands: [
        { name: 'x', command: ['a'] },
        { name: 'x', command: ['b'] },
      ],
    },
    says: 'shellCommands: each command needs a name of its own',
  },
  {
    why: 'a shell command of no words',
    value: { shellCommands: [{ name: 'x', command: [] }] },
    says: 'shellCommands.0.command',
  },
  { why: 'a pid file elsewhere', value: { shellCommandPidFile: '../x' }, says: 'shellCommandPidFile: must be' },
  { why: 'an unknown key', value: { slave: [] }, says: 'slave' },
])('$why is named', ({ value, says }) => expect(() => readLocalClusterSettings(value)).toThrow(says));

test('all problems are told at once', () =>
  expect(() => readLocalClusterSettings({ sandboxRetentionMillis: -1, cgroups: 'x' })).toThrow(
    /cluster\.local\.sandboxRetentionMillis.*\n.*cluster\.local\.cgroups/,
  ));

test('several port ranges', () =>
  expect(parsePortRanges('1-2,7-9')).toEqual([
    { begin: 1, end: 2 },
    { begin: 7, end: 9 },
  ]));

/** They reach it through the settings file of the scheduler, which refuses keys that it does not know. */
test('the settings file takes what the agent takes, with the same defaults', () => {
  const { agent, cluster } = SettingsFile.parse({});
  const { local, rackIdAttributeKey, defaultRackId } = cluster;
  const { requireIsolation } = agent;
  expect({ ...local, rackIdAttributeKey, defaultRackId, requireIsolation }).toEqual(
    readLocalClusterSettings(undefined),
  );
});
