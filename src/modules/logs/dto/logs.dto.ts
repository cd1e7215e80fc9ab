import { ApiExtraModels, ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { IsBoolean, IsInt, IsOptional, Max, Min } from 'class-validator';
import type {
  ContinuationToken,
  ObjstoreLog,
  ObjstoreLogMetadata,
  ObjstoreSearchRequest,
  ObjstoreSearchResult,
} from '../../../core/model/logs.js';
import { everyValue, Int32, is, isMap, raw, Text, Texts, Timestamp, Small } from '../../../platform/http/fields.js';
import { longestText, mostMembers } from '../../../platform/http/input-limits.js';
import { QueryBoolean, QueryInt, QueryTimestamp, readInteger } from '../../../platform/http/query.js';
import { Since } from '../../../platform/http/since.js';

/** Selects logs of a task, and a part of each. */
export class TaskLogsQuery {
  /** Only logs from this time on, in epoch milliseconds. */
  @QueryTimestamp()
  start?: number;
  /** Only logs until this time, in epoch milliseconds. */
  @QueryTimestamp()
  end?: number;
  /** Leave out startTime and endTime, which take a call to the store for each file. */
  @QueryBoolean()
  @ApiPropertyOptional({ default: false })
  excludeMetadata?: boolean;
  /** Leave out the links: only files and metadata. */
  @QueryBoolean()
  @ApiPropertyOptional({ default: false })
  list?: boolean;
}

/** A link as it was answered; nothing in it can be changed. */
export class LogObjectQuery {
  /** The bucket that the object is in. */
  @Text('name')
  bucket: string;
  /** Its key in the bucket. */
  @Text('path')
  key: string;
  /** Until when the link is valid, in epoch seconds. */
  @Transform(({ value }: { value: unknown }) => readInteger(value))
  @IsInt()
  @Min(0)
  @Max(Number.MAX_SAFE_INTEGER)
  @ApiProperty({ type: 'integer', format: 'int64' })
  expires: number;
  /** Save the object, and do not show it. */
  @QueryBoolean()
  attachment?: boolean;
  /** Signature of the link: it holds for just these values. */
  @Text('name')
  signature: string;
}

/** Selects logs of a request or a deploy, and a part of each. */
export class LogsQuery extends TaskLogsQuery {
  /** At most so many of each bucket that is searched, the newest; absent: all. */
  @QueryInt()
  maxPerPage?: number;
}

/**
 * A file of a task in the object store. Members that were not noted are left out. The links are for all who have them, valid
 * for a day unless configured otherwise.
 */
export class ObjstoreLogMetadataDto implements ObjstoreLogMetadata {
  /** Its key in the bucket. */
  key: string;
  /** Time at which it was written, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  lastModified: number;
  /** Its size in bytes. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  size: number;
  /** Time at which its first line was written, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64', required: false })
  startTime?: number;
  /** Time at which its last line was written, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64', required: false })
  endTime?: number;
  /** Shows the file; left out with list or listOnly. */
  @Since('1.5')
  getUrl?: string;
  /** Saves the file as it is stored; left out with list or listOnly. */
  @Since('1.5')
  downloadUrl?: string;
}

/** A log as an element of a list. */
export class ObjstoreLogDto extends ObjstoreLogMetadataDto implements ObjstoreLog {}

/** Progress of a search in one place. */
export class ContinuationTokenDto implements ContinuationToken {
  /** Key after which it goes on; absent: at the start. */
  @ApiProperty({ maxLength: longestText.uri })
  value?: string;
  /** There is nothing more in this place. */
  lastPage: boolean;
}

const tokens = { additionalProperties: { $ref: '#/components/schemas/ContinuationTokenDto' } };

const isToken = (value: unknown): boolean =>
  isMap(value) &&
  typeof value['lastPage'] === 'boolean' &&
  (value['value'] === undefined || typeof value['value'] === 'string');
const isTexts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((member) => typeof member === 'string' && member !== '');

/** Selects logs to search. At least one of requestsAndDeploys and taskIds must name something. */
@ApiExtraModels(ContinuationTokenDto)
export class ObjstoreSearchRequestDto implements ObjstoreSearchRequest {
  /** Deploy ids by request id; an empty list means all of the request. */
  @IsOptional()
  @raw((value) => value)
  @is('textLists', 'must be a map of request ids to lists of deploy ids', (value) => everyValue(value, isTexts))
  @Small('name')
  @ApiProperty({
    type: 'object',
    maxProperties: mostMembers,
    additionalProperties: {
      type: 'array',
      maxItems: mostMembers,
      items: { type: 'string', maxLength: longestText.name },
    },
  })
  requestsAndDeploys?: Record<string, string[]>;
  /** Ids of tasks. */
  @IsOptional()
  @Texts('name')
  taskIds?: string[];
  /** Only logs from this time on, in epoch milliseconds. */
  @IsOptional()
  @Timestamp()
  start?: number;
  /** Only logs until this time, in epoch milliseconds. */
  @IsOptional()
  @Timestamp()
  end?: number;
  /** Leave out startTime and endTime, which take a call to the store for each file. */
  @IsOptional()
  @IsBoolean()
  excludeMetadata?: boolean;
  /** Leave out the links: only files and metadata. */
  @IsOptional()
  @IsBoolean()
  listOnly?: boolean;
  /** Number of results to look for; default 10. A page can be longer when several places answer at once. */
  @IsOptional()
  @Int32()
  maxPerPage?: number;
  /** As the page before answered them; absent: the first page. */
  @IsOptional()
  @raw((value) => value)
  @is('tokens', 'must be the map that the page before answered', (value) => everyValue(value, isToken))
  @Small('uri')
  @ApiProperty({ type: 'object', maxProperties: mostMembers, ...tokens })
  continuationTokens?: Record<string, ContinuationTokenDto>;
  /** Only files whose key, or the last part of it, begins with one of these. */
  @IsOptional()
  @Texts('path')
  fileNamePrefixWhitelist?: string[];
}

/** A page of results. */
export class ObjstoreSearchResultDto implements ObjstoreSearchResult {
  /** Logs that were found, the newest first. */
  results: ObjstoreLogMetadataDto[];
  /** Progress of the search; to be sent along for the next page. */
  @ApiProperty({ type: 'object', ...tokens })
  continuationTokens: Record<string, ContinuationTokenDto>;
  /** Nothing is left to be found. */
  lastPage: boolean;
}
