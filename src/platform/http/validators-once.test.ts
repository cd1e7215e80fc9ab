import { getMetadataStorage, IsOptional, IsString, MaxLength, validate, validateSync } from 'class-validator';
import { expect, test } from 'vitest';
import { lookUpValidatorsOnce } from './validators-once.js';

lookUpValidatorsOnce();

class Named {
  @IsString()
  @MaxLength(3)
  name?: unknown;
}

class Noted extends Named {
  @IsOptional()
  @IsString({ groups: ['loud'] })
  note?: unknown;
}

const broken = (one: object) =>
  validateSync(one).map(({ property, constraints }) => [property, Object.keys(constraints!)]);

test('each object is checked by the validators of its class and of those above, however often', () => {
  for (let round = 0; round < 3; round++) {
    expect(broken(Object.assign(new Named(), { name: 'long enough' }))).toEqual([['name', ['maxLength']]]);
    expect(broken(Object.assign(new Noted(), { name: 7, note: 7 }))).toEqual([
      ['note', ['isString']],
      ['name', ['maxLength', 'isString']],
    ]);
    expect(broken(Object.assign(new Noted(), { name: 'ok' }))).toEqual([]);
  }
});

test('what is asked for by groups is looked up each time', async () => {
  const noted = Object.assign(new Noted(), { name: 7, note: 7 });
  await validate(noted);
  expect(
    (await validate(noted, { groups: ['loud'], forbidUnknownValues: false })).map(({ property }) => property),
  ).toEqual(['note']);
  expect(
    (await validate(noted, { groups: ['quiet'], forbidUnknownValues: false })).map(({ property }) => property),
  ).toEqual([]);
  expect(broken(noted).map(([property]) => property)).toEqual(['note', 'name']);
});

test('a class is looked up once', () => {
  const find = () => getMetadataStorage().getTargetValidationMetadatas(Noted, '', false, false);
  expect(find()).toHaveLength(4);
  expect(find()).toBe(find());
});
