import { Module } from '@nestjs/common';
import { UserStoreModule } from './user-store.module.js';
import { UsersController } from './users.controller.js';
import { UsersService } from './users.service.js';

@Module({ imports: [UserStoreModule], controllers: [UsersController], providers: [UsersService] })
export class UsersModule {}
