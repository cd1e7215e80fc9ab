import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { ListPage, type KeysetPage } from '../../../platform/database/keyset.js';
import { Query } from '../../../platform/http/inputs.js';
import { AskedPage } from '../../../platform/http/pages.js';
import { Since } from '../../../platform/http/since.js';
import { AuditEntryDto, AuditQuery } from './audit.dto.js';
import { AuditTrail } from './audit-trail.service.js';

const usualRows = 100;

/** Who asked for what, for administrators. */
@ApiTags('Auth')
@Controller('api/audit')
export class AuditController {
  constructor(private readonly trail: AuditTrail) {}

  /**
   * Calls that changed something, were refused, or read a file of a task, the newest first; X-Next-Cursor leads to older ones. A call
   * is here within a second after its answer.
   */
  @Get()
  @Since('muster')
  @ApiOkResponse({ type: [AuditEntryDto] })
  async audit(@Query() query: AuditQuery, @AskedPage() asked?: KeysetPage): Promise<ListPage<AuditEntryDto>> {
    const { members, next } = await this.trail.find(query, asked ?? { after: '', limit: query.limit ?? usualRows });
    return new ListPage(members.map(AuditEntryDto.from), next);
  }
}
