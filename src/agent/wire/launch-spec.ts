import { z } from 'zod';
import type { ContainerInfo } from '../../core/model/deploy.js';
import { programNames } from '../../core/model/deploy-tasks.js';
import { killSignals } from '../../core/model/enums.js';
import type { LaunchSpec } from '../../core/model/launch.js';
import { logrotateFrequencies } from '../../platform/settings/log-rotation-settings.js';
import { unsupportedDownloads, unsupportedExecutorFields, unsupportedVariables } from './unsupported.js';
import { staysInside } from '../../core/files/paths.js';

const word = z.string().refine((text) => !text.includes('\0'), { message: 'must not contain a NUL character' });
const relativePath = word.refine(staysInside, { message: "must be a relative path without '..'" });

const EmbeddedArtifact = z.object({
  name: z.string().optional(),
  filename: relativePath,
  md5sum: z.string().optional(),
  content: z.union([z.string(), z.array(z.string())]).optional(),
  targetFolderRelativeToTask: word.optional(),
});
const ExternalArtifact = z.object({
  name: z.string().optional(),
  filename: relativePath,
  md5sum: z.string().optional(),
  url: word,
  filesize: z.number().optional(),
  targetFolderRelativeToTask: word.optional(),
  isArtifactList: z.boolean().optional(),
});

const ObjstoreArtifact = z.object({
  name: z.string().optional(),
  filename: relativePath,
  md5sum: z.string().optional(),
  filesize: z.number().optional(),
  objstoreBucket: word,
  objstoreObjectKey: word,
  targetFolderRelativeToTask: word.optional(),
  isArtifactList: z.boolean().optional(),
});
/** Files that executorData brings. */
export const executorArtifacts = {
  embeddedArtifacts: z.array(EmbeddedArtifact).optional(),
  externalArtifacts: z.array(ExternalArtifact).optional(),
  objstoreArtifacts: z.array(ObjstoreArtifact).optional(),
  objstoreArtifactSignatures: z.array(ObjstoreArtifact.extend({ artifactFilename: word.optional() })).optional(),
};

/** Content of a file that is a list of artifacts. */
export const ArtifactList = z.object(executorArtifacts);

/** Checks the fields that have an effect; the rest is handed to `unsupportedExecutorFields`, which refuses it by name. */
const ExecutorData = z.looseObject({
  cmd: word,
  ...executorArtifacts,
  maxTaskThreads: z.number().int().positive().optional(),
  maxOpenFiles: z.number().int().positive().optional(),
  skipLogrotateAndCompress: z.boolean().optional(),
  loggingTag: z.string().optional(),
  loggingExtraFields: z.record(z.string(), z.string()).optional(),
  logrotateFrequency: z.enum(logrotateFrequencies).optional(),
});

const UploaderFile = z.object({
  filename: word.optional(),
  objstoreUploaderBucket: z.string().optional(),
  objstoreUploaderKeyPattern: z.string().optional(),
  objstoreUploaderFilenameHint: z.string().optional(),
  directory: word.optional(),
  objstoreStorageClass: z.string().optional(),
  applyObjstoreStorageClassAfterBytes: z.number().optional(),
  checkSubdirectories: z.boolean().optional(),
});

/** Files of a task that are uploaded. */
export const LogUploads = z.object({
  files: z.array(UploaderFile),
  bucket: z.string().optional(),
  keyPattern: z.string().optional(),
  storageClass: z.string().optional(),
  applyStorageClassAfterBytes: z.number().optional(),
});

/** A file of `uris`. */
export const Artifact = z.object({
  uri: word,
  cache: z.boolean().optional(),
  executable: z.boolean().optional(),
  extract: z.boolean().optional(),
  outputFile: relativePath.optional(),
});

const text = z.string().max(10_000);
const Ports = z.array(
  z.looseObject({ hostPort: z.number().int(), containerPort: z.number().int(), protocol: text.optional() }),
);

/** Its values are checked by `containerProblems`, with the settings of the agent. */
const Container = z.object({
  type: z.enum(['MESOS', 'DOCKER']),
  volumes: z
    .array(
      z.object({
        containerPath: text.optional(),
        hostPath: text.optional(),
        mode: z.enum(['RO', 'RW']).optional(),
        source: z
          .object({
            type: z.enum(['UNKNOWN', 'DOCKER_VOLUME']).optional(),
            dockerVolume: z
              .object({
                driver: text.optional(),
                name: text.optional(),
                driverOptions: z.record(z.string(), text).optional(),
              })
              .optional(),
          })
          .optional(),
      }),
    )
    .optional(),
  docker: z
    .object({
      image: text,
      privileged: z.boolean(),
      network: z.enum(['BRIDGE', 'HOST', 'NONE']).optional(),
      portMappings: Ports.optional(),
      forcePullImage: z.boolean().optional(),
      parameters: z.record(z.string(), text).optional(),
      dockerParameters: z.array(z.object({ key: text.optional(), value: text.optional() })).optional(),
    })
    .optional(),
  cluster: z
    .object({
      image: z
        .object({
          type: z.enum(['APPC', 'DOCKER']),
          appc: z.object({ name: text, id: text.optional() }).optional(),
          docker: z.object({ name: text }).optional(),
          cached: z.boolean().optional(),
        })
        .optional(),
    })
    .optional(),
  networkInfos: z
    .array(z.object({ name: text.optional(), groups: z.array(text).optional(), portMappings: Ports.optional() }))
    .optional(),
}) satisfies z.ZodType<ContainerInfo>;

const Program = z.object({
  name: z.string().max(programNames.longest).regex(programNames.pattern),
  command: z.object({ shell: z.boolean(), value: word, arguments: z.array(word) }),
  environment: z.record(z.string(), word),
});
const Step = Program.extend({ timeoutMillis: z.number().positive() });

/** A member of the document that is missing here, one too many, or one of another type does not compile. */
const members = {
  // The id names files, of which the file system wants at most 255 bytes; some have an ending.
  taskId: word.min(1).refine((id) => !id.includes('/') && Buffer.byteLength(encodeURIComponent(id)) <= 240, {
    message: "must not contain '/' and must be at most 240 bytes",
  }),
  launchId: z.string().min(1).optional(),
  slaveId: z.string(),
  incarnation: z.string(),
  requestId: z.string(),
  command: z.object({ shell: z.boolean(), value: word, arguments: z.array(word) }),
  environment: z.record(z.string(), word),
  // Only drivers of a cluster that has secrets give them a meaning; a deploy that names some is refused by the others.
  secretEnvironment: z.array(z.object({ name: word, secret: word, key: word })).optional(),
  serviceAccount: z.string().optional(),
  group: z.string().optional(),
  user: z.string().min(1).optional(),
  cpus: z.number().min(0),
  memoryMb: z.number().min(0),
  diskMb: z.number().min(0),
  extended: z.record(z.string(), z.number().int().positive()).optional(),
  cpuHardLimit: z.number().positive().optional(),
  ports: z.array(z.number().int().min(1).max(65_535)),
  artifacts: z.array(Artifact),
  executorData: ExecutorData.optional(),
  container: Container.optional(),
  successfulExitCodes: z.array(z.number().int()),
  killGraceMillis: z.number().min(0),
  killSignal: z.enum(killSignals).optional(),
  preStop: z
    .object({
      command: word.min(1).optional(),
      http: z.object({ uri: word, port: z.number().int().min(1).max(65_535) }).optional(),
      timeoutMillis: z.number().min(0),
    })
    .optional(),
  programs: z
    .object({
      init: z.array(Step),
      sidecars: z.array(Program.extend({ cpus: z.number().min(0), memoryMb: z.number().min(0) })),
      post: z.array(Step),
    })
    .optional(),
  healthcheckResultFile: z
    .object({ path: relativePath, intervalSeconds: z.number().positive(), timeoutSeconds: z.number().min(0) })
    .optional(),
  keepSandboxes: z
    .object({ count: z.number().int().positive().optional(), days: z.number().int().positive().optional() })
    .optional(),
  uploads: LogUploads.optional(),
} satisfies { [member in keyof Required<LaunchSpec>]: z.ZodType<LaunchSpec[member]> };
const Spec: z.ZodType<LaunchSpec> = z.object(members);

/** The launch, or the reason why it can never start here. */
export function readLaunchSpec(document: unknown): LaunchSpec | { refused: string } {
  const result = Spec.safeParse(document);
  if (!result.success) {
    const [issue] = result.error.issues;
    return { refused: `${issue?.path.join('.')} ${issue?.message}` };
  }
  const spec = result.data;
  const [problem] = [
    ...unsupportedVariables('environment', spec.environment),
    ...unsupportedDownloads('artifacts', spec.artifacts),
    ...(spec.executorData ? unsupportedExecutorFields(spec.executorData) : []),
    ...(spec.programs && (spec.executorData || spec.container)
      ? [{ field: 'programs', message: 'must not be given with executorData or a container' }]
      : []),
    ...Object.values(spec.programs ?? {})
      .flat()
      .flatMap(({ name, environment }) => unsupportedVariables(`programs.${name}`, environment)),
  ];
  return problem ? { refused: `${problem.field} ${problem.message}` } : spec;
}

/** The id of a launch that cannot be read otherwise, to answer it by name. */
export const taskIdOf = (document: unknown): string => {
  const result = z.object({ taskId: z.string() }).safeParse(document);
  return result.success ? result.data.taskId : '';
};
