import { Controller, Get, Header, Headers, Req, Res } from '@nestjs/common';
import { ApiExtraModels, ApiHeader, ApiOkResponse, ApiProduces, ApiTags, getSchemaPath } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import type { User } from '../../core/authorization/index.js';
import { SchedulerError } from '../../platform/errors.js';
import { CallerUser } from '../../platform/http/caller.js';
import { Query } from '../../platform/http/inputs.js';
import { Since } from '../../platform/http/since.js';
import { EventStreams } from './event-streams.service.js';
import { EventDto, EventsQuery } from './events.dto.js';

const numberText = /^\d{1,15}$/;

@ApiTags('Events')
@Controller('api/events')
export class EventsController {
  constructor(private readonly streams: EventStreams) {}

  /**
   * Tells what happens, as it happens: server-sent events without end, each with its number as id, its type as event and an
   * EventDto as data. After a cut, Last-Event-ID (a browser's EventSource sends it by itself) has it go on where it was. An event
   * `reset` says that some of what was asked for is not kept any more, `end` why the service ends the stream.
   */
  @Get()
  @Since('muster')
  @Header('Content-Type', 'text/event-stream; charset=utf-8')
  @ApiExtraModels(EventDto)
  @ApiHeader({ name: 'Last-Event-ID', required: false, description: 'The number of the last event that is there.' })
  @ApiProduces('text/event-stream')
  @ApiOkResponse({ schema: { $ref: getSchemaPath(EventDto) } })
  async stream(
    @Query() { type = [], requestId = [], lastEventId }: EventsQuery,
    @Headers('last-event-id') resumed: string | undefined,
    @CallerUser() user: User,
    @Req() request: Request,
    @Res() response: Response,
  ): Promise<void> {
    const given = resumed ? readNumber(resumed) : lastEventId === undefined ? undefined : readNumber(lastEventId);
    await this.streams.serve(request, response, user, { types: type, requestIds: requestId }, given);
  }
}

function readNumber(text: string): number {
  if (numberText.test(text)) return Number(text);
  const message = 'lastEventId, or the header Last-Event-ID, must be the id of an event, a number';
  throw SchedulerError.invalid('INVALID_PARAMETER', [{ field: 'lastEventId', rule: 'number', message }]);
}
