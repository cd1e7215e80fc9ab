import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiPropertyOptional, ApiSchema } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsInt, IsOptional, Max, Min } from 'class-validator';
import { QueryText, readInteger } from '../../../platform/http/query.js';
import { Text } from '../../../platform/http/fields.js';

/** A position in a file. Here zero is a position like any other; -1 means not given. */
const QueryPosition = () =>
  applyDecorators(
    IsOptional(),
    Transform(({ value }: { value: unknown }) => readInteger(value)),
    IsInt(),
    Min(-1),
    Max(Number.MAX_SAFE_INTEGER),
    ApiPropertyOptional({ type: 'integer', format: 'int64', minimum: -1 }),
  );

/** Selects a directory. */
export class BrowseQuery {
  /** Path of the folder in the sandbox; clients that leave it out get the sandbox itself. */
  @ApiProperty({ required: true })
  @QueryText('path')
  path?: string;
}

/** Selects a part of a file. */
export class ReadQuery {
  /** Path of the file in the sandbox. */
  @Text('path')
  path: string;
  /** Keep only lines that match this regular expression. */
  @QueryText('pattern')
  grep?: string;
  /** Position of the first byte; absent: 0; -1: answer the length of the file only, which is what absent means under compatibility. */
  @QueryPosition()
  offset?: number;
  /** Number of bytes, at most 65536; absent or -1: to the end of the file; 0: answer its length only. */
  @QueryPosition()
  length?: number;
}

/** A file or folder of a task. */
export class SandboxFileDto {
  /** Its name in the folder. */
  name: string;
  /** Time of its last change, in whole seconds since 1970. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  mtime: number;
  /** Its size in bytes. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  size: number;
  /** Kind and permissions, as ls -l shows them; a folder begins with d. */
  mode: string;
}

/** One folder of a task. A file's path on the machine is fullPathToRoot/currentDirectory/name. */
export class SandboxDto {
  /** Content of the directory, by name; empty when there is no such directory. */
  files: SandboxFileDto[];
  /** Absolute path of the sandbox on the machine. */
  fullPathToRoot: string;
  /** The folder, below the sandbox. */
  currentDirectory: string;
  /** Name of the machine. */
  slaveHostname: string;
}

/** Part of a file. */
@ApiSchema({ name: 'ClusterFileChunkObjectDto' })
export class FileChunkDto {
  /** The text, without the fragments of characters at its ends. */
  data: string;
  /** Position of its first byte in the file. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  offset: number;
  /** Offset at which to read on. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  nextOffset: number;
}
