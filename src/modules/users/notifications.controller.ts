import { applyDecorators, Controller, Get, HttpCode, Post } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiTags } from '@nestjs/swagger';
import { Body } from '../../platform/http/inputs.js';
import { Since } from '../../platform/http/since.js';
import { longestAddress, NotificationsService } from './notifications.service.js';

const AddressBody = () =>
  applyDecorators(
    ApiConsumes('application/json', 'text/plain', 'application/x-www-form-urlencoded'),
    ApiBody({
      description: 'The address, plain or as a JSON string.',
      required: true,
      schema: { type: 'string', maxLength: longestAddress, example: 'ada@example.com' },
    }),
  );

@ApiTags('Notifications')
@Controller('api/notifications')
export class NotificationsController {
  constructor(private readonly notifications: NotificationsService) {}

  /** Lists the addresses that no mail is sent to, in their order. */
  @Get('blacklist')
  blacklist(): Promise<string[]> {
    return this.notifications.list();
  }

  /** Lists the addresses that no mail is sent to: the later name of `blacklist`. */
  @Get('blocklist')
  @Since('1.5')
  blocklist(): Promise<string[]> {
    return this.notifications.list();
  }

  /** Lists the addresses that subscribed, in their order. */
  @Get('allowlist')
  @Since('1.5')
  allowlist(): Promise<string[]> {
    return this.notifications.subscribed();
  }

  /** Notes that an address wants mail, and takes it off the blacklist, in capital or small letters. No effect if it has subscribed. */
  @Post('subscribe')
  @HttpCode(204)
  @AddressBody()
  subscribe(@Body() address: string): Promise<void> {
    return this.notifications.subscribe(address);
  }

  /** Puts an address on the blacklist: no mail is sent to it any more. No effect if it is on it. */
  @Post('unsubscribe')
  @HttpCode(204)
  @AddressBody()
  unsubscribe(@Body() address: string): Promise<void> {
    return this.notifications.unsubscribe(address);
  }
}
