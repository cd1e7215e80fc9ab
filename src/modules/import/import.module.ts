import { Module } from '@nestjs/common';
import { DeploysModule } from '../deploys/deploys.module.js';
import { RequestsModule } from '../requests/requests.module.js';
import { SlavesModule } from '../slaves/slaves.module.js';
import { NotificationsModule } from '../users/notifications.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { HandOver } from './hand-over.service.js';
import { HistoryCopy } from './history-copy.service.js';
import { Imports } from './import.service.js';
import { ListImport } from './list-import.service.js';
import { RequestImport } from './request-import.service.js';

/** For `muster import-from`; the service itself does not use it. */
@Module({
  imports: [RequestsModule, DeploysModule, SlavesModule, WebhooksModule, NotificationsModule],
  providers: [Imports, RequestImport, HistoryCopy, ListImport, HandOver],
  exports: [Imports, HandOver],
})
export class ImportModule {}
