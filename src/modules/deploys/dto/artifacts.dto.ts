import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional, IsString } from 'class-validator';
import type {
  ClusterArtifact,
  EmbeddedArtifact,
  ExecutorData,
  ExternalArtifact,
  ObjstoreUploaderFile,
} from '../../../core/model/deploy.js';
import { Int32, Int64, is, NestedList, OneOf, TextMap, Texts } from '../../../platform/http/fields.js';

/** A file that is fetched into the sandbox before the task starts. */
export class ClusterArtifactDto implements ClusterArtifact {
  /** Where to fetch it from. */
  @IsString()
  uri: string;
  /** Keep it on the machine for the next task. */
  @IsOptional()
  @IsBoolean()
  cache?: boolean;
  /** Mark it as executable. */
  @IsOptional()
  @IsBoolean()
  executable?: boolean;
  /** Unpack it when it is an archive; true unless said otherwise. */
  @IsOptional()
  @IsBoolean()
  extract?: boolean;
  /** Name of the file in the sandbox; the last part of the uri unless said otherwise. */
  @IsOptional()
  @IsString()
  outputFile?: string;
}

/** Files of the sandbox that are uploaded to the object store. */
export class ObjstoreUploaderFileDto implements ObjstoreUploaderFile {
  /** File, or pattern of files, in the sandbox. */
  @IsOptional()
  @IsString()
  filename?: string;
  /** Bucket to upload to. */
  @IsOptional()
  @IsString()
  objstoreUploaderBucket?: string;
  /** Pattern of the object's key. */
  @IsOptional()
  @IsString()
  objstoreUploaderKeyPattern?: string;
  /** Name to use in the key in place of the file's own. */
  @IsOptional()
  @IsString()
  objstoreUploaderFilenameHint?: string;
  /** Folder that holds the files. */
  @IsOptional()
  @IsString()
  directory?: string;
  /** Storage class of the objects. */
  @IsOptional()
  @IsString()
  objstoreStorageClass?: string;
  /** Size in bytes from which the storage class applies. */
  @IsOptional()
  @Int64()
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

/** A file whose content stands in the deploy itself. */
export class EmbeddedArtifactDto implements EmbeddedArtifact {
  /** Name of the artifact. */
  @IsOptional()
  @IsString()
  name?: string;
  /** Name of the file to write. */
  @IsOptional()
  @IsString()
  filename?: string;
  /** Checksum of the content. */
  @IsOptional()
  @IsString()
  md5sum?: string;
  /** Content in base64; several texts are written one after the other. */
  @ApiProperty({ type: 'array', items: { type: 'string', format: 'byte' } })
  @IsOptional()
  @Texts()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? [value] : value), { toClassOnly: true })
  content?: string[];
  /** Folder to write to, relative to the task's. */
  @IsOptional()
  @IsString()
  targetFolderRelativeToTask?: string;
}

/** A file that is downloaded. */
export class ExternalArtifactDto implements ExternalArtifact {
  /** Name of the artifact. */
  @IsOptional()
  @IsString()
  name?: string;
  /** Name of the file to write. */
  @IsOptional()
  @IsString()
  filename?: string;
  /** Checksum that the download must have. */
  @IsOptional()
  @IsString()
  md5sum?: string;
  /** Where to download it from. */
  @IsOptional()
  @IsString()
  url?: string;
  /** Size in bytes. */
  @IsOptional()
  @Int64()
  filesize?: number;
  /** Folder to write to, relative to the task's. */
  @IsOptional()
  @IsString()
  targetFolderRelativeToTask?: string;
  /** The file is a list of further artifacts. */
  @IsOptional()
  @IsBoolean()
  isArtifactList?: boolean;
}

/** A file of the object store. */
export class ObjstoreArtifactDto {
  /** Name of the artifact. */
  @IsOptional()
  @IsString()
  name?: string;
  /** Name of the file to write. */
  @IsOptional()
  @IsString()
  filename?: string;
  /** Checksum that the object must have. */
  @IsOptional()
  @IsString()
  md5sum?: string;
  /** Size in bytes. */
  @IsOptional()
  @Int64()
  filesize?: number;
  /** Bucket of the object. */
  @IsOptional()
  @IsString()
  objstoreBucket?: string;
  /** Key of the object. */
  @IsOptional()
  @IsString()
  objstoreObjectKey?: string;
  /** Folder to write to, relative to the task's. */
  @IsOptional()
  @IsString()
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
  @IsString()
  artifactFilename?: string;
}

/** What the task's executor is to do. */
export class ExecutorDataDto implements ExecutorData {
  /** Command that the executor runs. */
  @IsString()
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
  /** Exit codes that count as success; only 0 unless said otherwise. */
  @IsOptional()
  @is('exitCodes', 'must be a list of whole numbers', (value) => Array.isArray(value) && value.every(Number.isInteger))
  @ApiProperty({ type: 'array', items: { type: 'integer', format: 'int32' } })
  successfulExitCodes?: number[];
  /** User to run as. */
  @IsOptional()
  @IsString()
  user?: string;
  /** A file whose existence tells that the task is running. */
  @IsOptional()
  @IsString()
  runningSentinel?: string;
  /** Arguments appended to the command. */
  @IsOptional()
  @Texts()
  extraCmdLineArgs?: string[];
  /** Tag for the log watcher. */
  @IsOptional()
  @IsString()
  loggingTag?: string;
  /** Further fields for the log watcher. */
  @IsOptional()
  @TextMap()
  loggingExtraFields?: Record<string, string>;
  /** Milliseconds between SIGTERM and SIGKILL. */
  @IsOptional()
  @Int64()
  sigKillProcessesAfterMillis?: number;
  /** Most threads the task may have. */
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
  /** How often the logs are rotated. */
  @IsOptional()
  @OneOf(['HOURLY', 'DAILY', 'WEEKLY', 'MONTHLY'])
  logrotateFrequency?: 'HOURLY' | 'DAILY' | 'WEEKLY' | 'MONTHLY';
}
