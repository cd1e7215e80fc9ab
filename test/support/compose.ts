import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

/** The keys that docker-compose.yml uses, and no others: what is not translated below has to fail here. */
const Service = z.strictObject({
  image: z.string().optional(),
  build: z.literal('.').optional(),
  environment: z.record(z.string(), z.string()).default({}),
  healthcheck: z
    .strictObject({ test: z.tuple([z.literal('CMD-SHELL'), z.string()]), interval: z.string(), retries: z.number() })
    .optional(),
  init: z.boolean().default(false),
  read_only: z.boolean().default(false),
  tmpfs: z.array(z.string()).default([]),
  stop_grace_period: z.string().optional(),
  depends_on: z.record(z.string(), z.strictObject({ condition: z.literal('service_healthy') })).default({}),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
});
export type ComposeService = z.infer<typeof Service>;

const Compose = z.strictObject({
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.null()).default({}),
});

/** A compose file whose services `runWords` starts in the order in which they depend on each other. */
export function readCompose(path: string): [string, ComposeService][] {
  const { services } = Compose.parse(parse(readFileSync(path, 'utf8')));
  const waitFor = ([, service]: [string, ComposeService]) => Object.keys(service.depends_on).length;
  return Object.entries(services).toSorted((a, b) => waitFor(a) - waitFor(b));
}

interface Surroundings {
  /** Image that `build` has made. */
  built: string;
  /** Addresses of the other services: networks of tests have no names. */
  addresses: ReadonlyMap<string, string>;
  /** In place of the port of this machine that the file names. */
  port: number;
}

/** Arguments with which the engine starts a service, without its command. */
export function runWords(name: string, service: ComposeService, { built, addresses, port }: Surroundings): string[] {
  return [
    `--name=${name}`,
    ...Object.entries(service.environment).map(([key, value]) => `--env=${key}=${value}`),
    ...Object.keys(service.depends_on).map((other) => `--add-host=${other}:${addresses.get(other)}`),
    ...service.volumes.map((volume) => `--volume=${volume}`),
    ...service.ports.map(
      (published) => `--publish=${published.replace(/^([\d.]+):[^:]*(?::-\d+\})?:/, `$1:${port}:`)}`,
    ),
    ...service.tmpfs.map((folder) => `--tmpfs=${folder}`),
    ...(service.healthcheck ? [`--health-cmd=${service.healthcheck.test[1]}`, '--health-interval=disable'] : []),
    ...(service.init ? ['--init', '--init-path=/usr/bin/catatonit'] : []),
    ...(service.read_only ? ['--read-only'] : []),
    service.image ?? built,
  ];
}
