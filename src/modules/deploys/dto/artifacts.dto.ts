import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsBoolean, IsOptional, IsString } from 'class-validator';
import { Int64, NestedList } from '../../../platform/http/fields.js';

/** A file that is fetched into the sandbox before the task starts. */
export class ClusterArtifactDto {
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
export class ObjstoreUploaderFileDto {
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
