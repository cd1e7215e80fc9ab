import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { QueryInt, QueryText, QueryTimestamp, QueryWord } from '../../../platform/http/query.js';
import type { FoundEntry } from './audit.repository.js';

export const outcomes = ['ALLOWED', 'REFUSED'] as const;
const mostRows = 10_000;

/** Filters of the audit trail. */
export class AuditQuery {
  /** Id of the user who called. */
  @QueryText('name')
  caller?: string;
  /** Id of the request that the call was about. */
  @QueryText('name')
  requestId?: string;
  /** Result of the check of the caller's rights. */
  @QueryWord(outcomes)
  outcome?: (typeof outcomes)[number];
  /** Not before this time. */
  @QueryTimestamp()
  from?: number;
  /** Before this time. */
  @QueryTimestamp()
  to?: number;
  /** At most so many; 100 unless given. With a cursor, the length of a page. */
  @QueryInt({ max: mostRows })
  limit?: number;
  /** Begin of a page: what X-Next-Cursor of the page before said. */
  @QueryText('uri')
  cursor?: string;
}

/** A call that changed something, was refused, or read a file of a task. */
export class AuditEntryDto {
  /** Time of its end, in epoch milliseconds. */
  @ApiProperty({ type: 'integer', format: 'int64' })
  at: number;
  /** Id of the user who called. Absent: it is not known who did. */
  caller?: string;
  /** Issuer of that id. */
  issuer?: string;
  /** The way that told who called, such as TOKEN. */
  provenBy?: string;
  /** Address of the connection that it came by. */
  address: string;
  /** Method and route, such as `POST /api/requests/request/:requestId/run`. */
  operation: string;
  /** Path of the call. */
  path: string;
  /** Id of the request in the call, if it named one. */
  requestId?: string;
  /** Result of the check of the caller's rights. */
  @ApiProperty({ enum: outcomes, enumName: 'AuditOutcome' })
  outcome: (typeof outcomes)[number];
  /** Status of the answer. Absent: the caller hung up before. */
  @ApiPropertyOptional({ type: 'integer', format: 'int32' })
  status?: number;
  /** Reason for a refusal. */
  reason?: string;
  /** X-Request-Id of the answer, and requestId of its log lines. */
  callId: string;

  static from(entry: FoundEntry): AuditEntryDto {
    return {
      at: entry.at.getTime(),
      caller: entry.callerId ?? undefined,
      issuer: entry.callerIssuer ?? undefined,
      provenBy: entry.provenBy ?? undefined,
      address: entry.address,
      operation: entry.operation,
      path: entry.path,
      requestId: entry.requestId ?? undefined,
      outcome: entry.outcome,
      status: entry.status ?? undefined,
      reason: entry.reason ?? undefined,
      callId: entry.callId,
    };
  }
}
