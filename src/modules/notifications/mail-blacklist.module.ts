import { Module } from '@nestjs/common';
import { MailBlacklist } from './mail-blacklist.service.js';

/** Who wants no mail, for whoever sends some. */
@Module({ providers: [MailBlacklist], exports: [MailBlacklist] })
export class MailBlacklistModule {}
