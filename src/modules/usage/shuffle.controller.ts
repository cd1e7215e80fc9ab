import { Controller, Delete, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { ShuffleService } from './shuffle.service.js';

@ApiTags('Shuffle')
@Controller('api/shuffle/blacklist')
export class ShuffleController {
  constructor(private readonly shuffle: ShuffleService) {}

  /** Lists the ids of the requests whose tasks are not moved off overloaded slaves. */
  @Get()
  list(): Promise<string[]> {
    return this.shuffle.list();
  }

  /** Tells whether the tasks of a request are exempt from being moved. */
  @Get(':requestId')
  has(@Param('requestId') requestId: string): Promise<boolean> {
    return this.shuffle.has(requestId);
  }

  /** Exempts the tasks of a request from being moved. No effect if they are exempt. */
  @Post(':requestId')
  @HttpCode(204)
  add(@Param('requestId') requestId: string): Promise<void> {
    return this.shuffle.add(requestId);
  }

  /** Lets the tasks of a request be moved again. No effect if they may be; 409 if the settings exempt them. */
  @Delete(':requestId')
  @HttpCode(204)
  remove(@Param('requestId') requestId: string): Promise<void> {
    return this.shuffle.remove(requestId);
  }
}
