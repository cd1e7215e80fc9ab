import { Controller, Delete, Get, HttpCode, Param, Post, Req } from '@nestjs/common';
import { ApiForbiddenResponse, ApiNotFoundResponse, ApiTags, ApiTooManyRequestsResponse } from '@nestjs/swagger';
import type { User } from '../../core/authorization/index.js';
import { CallerUser } from '../../platform/http/caller.js';
import { ErrorDto } from '../../platform/http/error.dto.js';
import { Body, Query } from '../../platform/http/inputs.js';
import type { CheckedRequest } from './access/access.guard.js';
import { AuthService } from './auth.service.js';
import {
  AuthCheckQuery,
  TokenInfoDto,
  TokenListQuery,
  TokenRequestDto,
  TokenResponseDto,
  UserHolderDto,
} from './auth.dto.js';
import { Since } from '../../platform/http/since.js';

@ApiTags('Auth')
@Controller('api/auth')
export class AuthController {
  constructor(private readonly auth: AuthService) {}

  /** Shows who the caller is taken for. */
  @Get('user')
  whoCalls(@CallerUser() caller: User, @Req() request: CheckedRequest): Promise<UserHolderDto> {
    return this.auth.whoCalls(caller, request);
  }

  /**
   * Makes a token for the caller or, as an administrator, for another user. It takes the place of the one of the same name,
   * or without a name, that they had.
   */
  @Post('token')
  @HttpCode(200)
  @ApiForbiddenResponse({ type: ErrorDto })
  @ApiTooManyRequestsResponse({ type: ErrorDto })
  createToken(@Body() wanted: TokenRequestDto, @CallerUser() caller: User): Promise<TokenResponseDto> {
    return this.auth.createToken(wanted, caller);
  }

  /** Takes all tokens of the user with this id or name away, and signs the user with this id out everywhere. No effect if there is none. */
  @Delete('token/:user')
  @ApiForbiddenResponse({ type: ErrorDto })
  clearToken(@Param('user') userName: string): Promise<void> {
    return this.auth.clearToken(userName);
  }

  /** Lists the caller's tokens or, for administrators, those of another user or of all: never their text. */
  @Get('tokens')
  @Since('muster')
  @ApiForbiddenResponse({ type: ErrorDto })
  listTokens(@Query() query: TokenListQuery, @CallerUser() caller: User): Promise<TokenInfoDto[]> {
    return this.auth.listTokens(query, caller);
  }

  /** Takes one token away: the caller's own or, for administrators, any. */
  @Delete('tokens/:tokenId')
  @Since('muster')
  @ApiNotFoundResponse({ type: ErrorDto })
  revokeToken(@Param('tokenId') tokenId: string, @CallerUser() caller: User): Promise<void> {
    return this.auth.revokeToken(tokenId, caller);
  }

  /** 200 if the caller may do this to the request; else 403, and the message says what they lack. */
  @Get(':requestId/auth-check')
  @ApiForbiddenResponse({ type: ErrorDto })
  checkCaller(
    @Param('requestId') requestId: string,
    @Query() { scope }: AuthCheckQuery,
    @CallerUser() caller: User,
  ): Promise<void> {
    return this.auth.check(requestId, scope, caller);
  }

  /** 200 if this user, looked up in the directory, may do this to the request; else 403. */
  @Get(':requestId/auth-check/:userId')
  @ApiForbiddenResponse({ type: ErrorDto })
  checkUser(
    @Param('requestId') requestId: string,
    @Param('userId') userId: string,
    @Query() { scope }: AuthCheckQuery,
    @CallerUser() caller: User,
  ): Promise<void> {
    return this.auth.checkUser(requestId, scope, userId, caller);
  }
}
