import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { Int32, Int64, is, NestedList, OneOf, TextMap, Texts } from '../../../platform/http/fields.js';

/** A file whose content stands in the deploy itself. */
export class EmbeddedArtifactDto {
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
export class ExternalArtifactDto {
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
export class ExecutorDataDto {
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
