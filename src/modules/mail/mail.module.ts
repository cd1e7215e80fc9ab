import { Module } from '@nestjs/common';
import { SandboxModule } from '../sandbox/sandbox.module.js';
import { LogTails } from './log-tails.service.js';
import { MailDelivery } from './mail-delivery.poller.js';
import { MailFigures } from './mail-figures.service.js';
import { MailSender } from './mail-sender.service.js';
import { MailWriter } from './mail-writer.service.js';

/** Mails: written and sent from the outbox that all rooms queue them in. */
@Module({
  imports: [SandboxModule],
  providers: [LogTails, MailWriter, MailSender, MailFigures, MailDelivery],
  exports: [MailDelivery],
})
export class MailModule {}
