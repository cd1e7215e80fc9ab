import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional } from 'class-validator';
import { isBase64, textsOf } from '../../../core/base64.js';
import type {
  ClusterArtifact,
  EmbeddedArtifact,
  ExecutorData,
  ExternalArtifact,
  ObjstoreUploaderFile,
} from '../../../core/model/deploy.js';
import {
  Int32,
  is,
  isSmall,
  NestedList,
  OneOf,
  TextMap,
  Texts,
  Text,
  Millis,
  Bytes,
  Integers,
} from '../../../platform/http/fields.js';
import { longestText, mostMembers } from '../../../platform/http/input-limits.js';

/** A file that is fetched into the sandbox before the task starts. */
export class ClusterArtifactDto implements ClusterArtifact {
  /** Address from which it is fetched. */
  @Text('uri')
  uri: string;
  /** Keep it on the machine for the next task. */
  @IsOptional()
  @IsBoolean()
  cache?: boolean;
  /** Mark it as executable. */
  @IsOptional()
  @IsBoolean()
  executable?: boolean;
  /** Unpack it when it is an archive. Default: true. */
  @IsOptional()
  @IsBoolean()
  extract?: boolean;
  /** Name of the file in the sandbox. Default: the last part of the uri. */
  @IsOptional()
  @Text('path')
  outputFile?: string;
}

/** Files of the sandbox that are uploaded to the object store. */
export class ObjstoreUploaderFileDto implements ObjstoreUploaderFile {
  /** File, or pattern of files, in the sandbox. */
  @IsOptional()
  @Text('path')
  filename?: string;
  /** Bucket to upload to. Default: the setting objstore.objstoreBucket. */
  @IsOptional()
  @Text('name')
  objstoreUploaderBucket?: string;
  /** Pattern of the key of the object. Default: the setting objstore.objstoreKeyFormat. */
  @IsOptional()
  @Text('path')
  objstoreUploaderKeyPattern?: string;
  /** Name to use in the key in place of the file's own. */
  @IsOptional()
  @Text('path')
  objstoreUploaderFilenameHint?: string;
  /** Folder that holds the files, below the sandbox. Default: the sandbox. */
  @IsOptional()
  @Text('path')
  directory?: string;
  /** Storage class of the objects. */
  @IsOptional()
  @Text('name')
  objstoreStorageClass?: string;
  /** Size in bytes from which the storage class applies. */
  @IsOptional()
  @Bytes()
  applyObjstoreStorageClassAfterBytes?: number;
  /** Look into subfolders as well. */
  @IsOptional()
  @IsBoolean()
  checkSubdirectories?: boolean;
}

/** Older clients send a plain text where a record of one member is meant. Without its class it would count as unknown. */
const textAs = <Record extends object>(type: new () => Record, member: keyof Record) =>
  Transform(
    ({ value }: { value: unknown }) =>
      Array.isArray(value)
        ? value.map((entry: unknown) =>
            typeof entry === 'string' ? Object.assign(new type(), { [member]: entry }) : entry,
          )
        : value,
    { toClassOnly: true },
  );

/** A list of ClusterArtifact; a plain text stands for its uri. */
export const Artifacts = () =>
  applyDecorators(
    NestedList(() => ClusterArtifactDto),
    textAs(ClusterArtifactDto, 'uri'),
  );
/** A list of ObjstoreUploaderFile; a plain text stands for its filename. */
export const UploaderFiles = () =>
  applyDecorators(
    NestedList(() => ObjstoreUploaderFileDto),
    textAs(ObjstoreUploaderFileDto, 'filename'),
  );

const base64Schema = { type: 'string', format: 'byte', maxLength: longestText.file } as const;
const isOneOrMoreTexts = (value: unknown): value is string | string[] =>
  typeof value === 'string' || (Array.isArray(value) && value.every((one) => typeof one === 'string'));

/** A file whose content stands in the deploy itself. */
export class EmbeddedArtifactDto implements EmbeddedArtifact {
  /** Name of the artifact; kept and shown. */
  @IsOptional()
  @Text('name')
  name?: string;
  /** Name of the file to write. */
  @IsOptional()
  @Text('path')
  filename?: string;
  /** MD5 of the content, in hexadecimal digits. */
  @IsOptional()
  @Text('name')
  md5sum?: string;
  /** Content in base64: one text, or several that are written one after the other. It is answered as it was sent. */
  @ApiProperty({ type: 'array', maxItems: mostMembers, items: base64Schema })
  @IsOptional()
  @is(
    'base64',
    'must be base64, with its padding',
    (value) => !isOneOrMoreTexts(value) || textsOf(value).every(isBase64),
  )
  @is('length', `must have at most ${longestText.file} characters`, (value) => isSmall(value, 'file'))
  @is('type', 'must be a text or a list of texts', isOneOrMoreTexts)
  content?: string | string[];
  /** Folder to write to, relative to the task's. Default: the folder that the command runs in. */
  @IsOptional()
  @Text('path')
  targetFolderRelativeToTask?: string;
}

/** A file that is downloaded. */
export class ExternalArtifactDto implements ExternalArtifact {
  /** Name of the artifact; kept and shown. */
  @IsOptional()
  @Text('name')
  name?: string;
  /** Name of the file to write. */
  @IsOptional()
  @Text('path')
  filename?: string;
  /** MD5 that the download must have, in hexadecimal digits. */
  @IsOptional()
  @Text('name')
  md5sum?: string;
  /** Address from which it is downloaded. */
  @IsOptional()
  @Text('uri')
  url?: string;
  /** Size in bytes that the download must have. */
  @IsOptional()
  @Bytes()
  filesize?: number;
  /** Folder to write to, relative to the task's. Default: the folder that the command runs in. */
  @IsOptional()
  @Text('path')
  targetFolderRelativeToTask?: string;
  /** The file is a list of further artifacts. */
  @IsOptional()
  @IsBoolean()
  isArtifactList?: boolean;
}

/** A file of the object store. */
export class ObjstoreArtifactDto {
  /** Name of the artifact; kept and shown. */
  @IsOptional()
  @Text('name')
  name?: string;
  /** Name of the file to write. */
  @IsOptional()
  @Text('path')
  filename?: string;
  /** MD5 that the object must have, in hexadecimal digits. */
  @IsOptional()
  @Text('name')
  md5sum?: string;
  /** Size in bytes that the object must have. */
  @IsOptional()
  @Bytes()
  filesize?: number;
  /** Bucket of the object. */
  @IsOptional()
  @Text('name')
  objstoreBucket?: string;
  /** Key of the object. */
  @IsOptional()
  @Text('path')
  objstoreObjectKey?: string;
  /** Folder to write to, relative to the task's. Default: the folder that the command runs in. */
  @IsOptional()
  @Text('path')
  targetFolderRelativeToTask?: string;
  /** The file is a list of further artifacts. */
  @IsOptional()
  @IsBoolean()
  isArtifactList?: boolean;
}

/** The signature of an object store artifact, itself an object. */
export class ObjstoreArtifactSignatureDto extends ObjstoreArtifactDto {
  /** Filename of the artifact that is signed. */
  @IsOptional()
  @Text('path')
  artifactFilename?: string;
}

/** Instructions for the task's executor. */
export class ExecutorDataDto implements ExecutorData {
  /** Command that runs: a line for a shell, which becomes the program that it names. */
  @Text('command')
  cmd: string;
  /** Files whose content stands here. */
  @IsOptional()
  @NestedList(() => EmbeddedArtifactDto)
  embeddedArtifacts?: EmbeddedArtifactDto[];
  /** Files to download. */
  @IsOptional()
  @NestedList(() => ExternalArtifactDto)
  externalArtifacts?: ExternalArtifactDto[];
  /** Files of the object store. */
  @IsOptional()
  @NestedList(() => ObjstoreArtifactDto)
  objstoreArtifacts?: ObjstoreArtifactDto[];
  /** Exit codes that count as success. Default: only 0. */
  @IsOptional()
  @Integers({ min: -2_147_483_648, max: 2_147_483_647, what: 'whole numbers' })
  successfulExitCodes?: number[];
  /** Account to run as. Default: the user of the deploy, else the setting cluster.local.defaultRunAsUser. */
  @IsOptional()
  @Text('name')
  user?: string;
  /**
   * A file whose existence tells that the task is running; where the setting cluster.local.honorRunningSentinel is true.
   */
  @IsOptional()
  @Text('path')
  runningSentinel?: string;
  /** Arguments appended to the command. */
  @IsOptional()
  @Texts('command')
  extraCmdLineArgs?: string[];
  /** Tag for the log watcher. */
  @IsOptional()
  @Text('name')
  loggingTag?: string;
  /** Further fields for the log watcher. */
  @IsOptional()
  @TextMap()
  loggingExtraFields?: Record<string, string>;
  /** Milliseconds between SIGTERM and SIGKILL. Default: the setting hardKillAfterMillis (180000). */
  @IsOptional()
  @Millis()
  sigKillProcessesAfterMillis?: number;
  /**
   * Most threads the task may have; one with more is killed. Default: the setting cluster.local.maxTaskThreads (no
   * limit).
   */
  @IsOptional()
  @Int32({ min: 1 })
  maxTaskThreads?: number;
  /** Keep the sandbox when the task has ended. */
  @IsOptional()
  @IsBoolean()
  preserveTaskSandboxAfterFinish?: boolean;
  /** Most files the task may have open. */
  @IsOptional()
  @Int32({ min: 1 })
  maxOpenFiles?: number;
  /** Leave the logs as they are. */
  @IsOptional()
  @IsBoolean()
  skipLogrotateAndCompress?: boolean;
  /** Signatures of object store artifacts. */
  @IsOptional()
  @NestedList(() => ObjstoreArtifactSignatureDto)
  objstoreArtifactSignatures?: ObjstoreArtifactSignatureDto[];
  /** Interval at which the logs are rotated. Default: the setting cluster.local.logrotateFrequency (DAILY). */
  @IsOptional()
  @OneOf(['EVERY_MINUTE', 'EVERY_FIVE_MINUTES', 'HOURLY', 'DAILY', 'WEEKLY', 'MONTHLY'])
  logrotateFrequency?: 'EVERY_MINUTE' | 'EVERY_FIVE_MINUTES' | 'HOURLY' | 'DAILY' | 'WEEKLY' | 'MONTHLY';
}
