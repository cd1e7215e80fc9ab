import { Module } from '@nestjs/common';
import { RequestGroupStore } from './request-group-store.service.js';
import { RequestGroupsController } from './request-groups.controller.js';
import { RequestGroupsService } from './request-groups.service.js';

@Module({ controllers: [RequestGroupsController], providers: [RequestGroupsService, RequestGroupStore] })
export class RequestGroupsModule {}
