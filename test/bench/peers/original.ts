import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../support/free-port.js';
import type { Side } from './side.js';

const file = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** The service asks machines on a port that cannot be set (5051); on an address of their own it is free. */
const machinesAddress = '127.0.50.51';

/** Packages of the JDK that the libraries of the service look into, which are older than its walls. */
const opened = ['io', 'lang', 'net', 'nio', 'text', 'time', 'util', 'util.concurrent']
  .map((name) => `java.base/java.${name}`)
  .concat('java.base/sun.nio.ch', 'java.base/jdk.internal.misc')
  .map((name) => `--add-opens=${name}=ALL-UNNAMED`);

/** Reason why it cannot be had here; undefined: it can. */
export function missingForOriginal(): string | undefined {
  for (const [program, flag] of [
    ['java', '-version'],
    ['javac', '-version'],
    ['mvn', '--version'],
  ] as const) {
    try {
      execFileSync(program, [flag], { stdio: 'ignore' });
    } catch {
      return `${program} is not there; it takes a JDK (17) and Maven to run the original (--skip-original: Muster alone)`;
    }
  }
  return undefined;
}

/** Fetches version 1.5.0 by Maven, if it is not there yet, and starts it with ZooKeeper and the played cluster. */
export async function startOriginal(side: Side, { machines }: { machines: number }): Promise<void> {
  const jars = await fetchJars(side);
  const classes = join(side.folder('cluster'), 'classes');
  mkdirSync(classes);
  const sources = ['PlayedCluster', 'PlayedMachine', 'PlayedTask'].map((name) => file(`${name}.java`));
  await side.run('cluster', 'javac', ['-Xlint:none', '-d', classes, '-cp', jars, ...sources]).ended();
  const logging = writeLogging(side);

  const storePort = await freePort();
  const store = side.run('store', 'java', [
    '-Xmx2g',
    ...logging,
    // Its largest lists are above the default. To wait for no disk is to the advantage of the original.
    '-Djute.maxbuffer=40000000',
    '-Dzookeeper.forceSync=no',
    '-Dzookeeper.admin.enableServer=false',
    '-cp',
    jars,
    'org.apache.zookeeper.server.ZooKeeperServerMain',
    String(storePort),
    join(side.folder('store'), 'data'),
  ]);
  const heap = [`-Djdk.net.hosts.file=${writeHosts(side, machines)}`, ...logging];
  const cluster = ['-Xmx2g', ...heap, '-cp', [classes, jars].join(delimiter), 'PlayedCluster'];
  const { master } = await side.playCluster('java', [...cluster, machinesAddress, String(machines)]);
  await store.until('ZooKeeper', () => isOpen(storePort));

  const port = await freePort();
  const settings = join(side.folder('service'), 'settings.yaml');
  // What is JSON is YAML.
  writeFileSync(settings, JSON.stringify(settingsOf({ port, master: master!, storePort })));
  const service = side.run('service', 'java', [
    '-Xmx4g',
    ...opened,
    ...heap,
    '-Djute.maxbuffer=40000000',
    '-Dio.netty.tryReflectionSetAccessible=true',
    '-cp',
    jars,
    'com.hubspot.singularity.SingularityService',
    'server',
    settings,
  ]);
  side.api = `http://127.0.0.1:${port}/singularity/api`;
  await service.until('the original', () => side.answers(`${side.api}/state`));
}

/** Fetches the libraries, or takes those that were fetched before, without the network. */
async function fetchJars(side: Side): Promise<string> {
  const list = join(side.folder('cluster'), 'jars');
  const goal = ['-q', '-B', '-f', file('pom.xml'), `-Dmdep.outputFile=${list}`, 'dependency:build-classpath'];
  await side
    .run('cluster', 'mvn', ['-o', ...goal])
    .ended()
    .catch(() => side.run('cluster', 'mvn', goal).ended());
  return readFileSync(list, 'utf8').trim();
}

function settingsOf({ port, master, storePort }: { port: number; master: number; storePort: number }) {
  return {
    server: {
      type: 'simple',
      applicationContextPath: '/singularity',
      adminContextPath: '/admin',
      connector: { type: 'http', port },
      requestLog: { appenders: [] },
    },
    mesos: {
      master: `http://127.0.0.1:${master}/api/v1/scheduler`,
      frameworkName: 'Singularity',
      frameworkId: 'Singularity',
      frameworkFailoverTimeout: 1_000_000,
    },
    zookeeper: {
      quorum: `127.0.0.1:${storePort}`,
      zkNamespace: 'singularity',
      sessionTimeoutMillis: 60_000,
    },
    logging: { level: 'INFO', appenders: [{ type: 'console' }] },
    hostname: 'localhost',
    ui: { baseUrl: `http://localhost:${port}/singularity` },
  };
}

/** Without it ZooKeeper tells each call that it gets. */
function writeLogging(side: Side): string[] {
  const path = join(side.folder('cluster'), 'logging.xml');
  const appender =
    '<appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder><pattern>%d %level %logger %msg%n</pattern></encoder></appender>';
  writeFileSync(path, `<configuration>${appender}<root level="WARN"><appender-ref ref="out"/></root></configuration>`);
  return [`-Dlogback.configurationFile=${path}`, '-Dzookeeper.jmx.log4j.disable=true'];
}

/** Names of the played machines. */
function writeHosts(side: Side, machines: number): string {
  const path = join(side.folder('cluster'), 'hosts');
  const names = Array.from({ length: machines }, (_, index) => `${machinesAddress} machine${index + 1}`);
  writeFileSync(path, ['127.0.0.1 localhost', ...names, ''].join('\n'));
  return path;
}

const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
