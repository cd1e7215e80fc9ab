import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const css = readFileSync(new URL('tokens.css', import.meta.url), 'utf8');

function colour(name: string, theme: 'light' | 'dark'): string {
  const [, value = ''] = new RegExp(`--${name}: ([^;]+);`).exec(css) ?? [];
  const [, light, dark] = /light-dark\((#\w+), (#\w+)\)/.exec(value) ?? [];
  return (theme === 'light' ? light : dark) ?? value;
}

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** Text and what it stands on. */
const texts: readonly (readonly [string, string])[] = [
  ...['text', 'faint', 'link', 'good', 'busy', 'bad', 'warn'].flatMap((name) => [
    [name, 'ground'] as const,
    [name, 'raised'] as const,
  ]),
  ...['good', 'busy', 'bad', 'warn'].flatMap((name) => [
    [name, `${name}-ground`] as const,
    ['text', `${name}-ground`] as const,
    ['link', `${name}-ground`] as const,
    ['faint', `${name}-ground`] as const,
  ]),
  ['on-primary', 'primary'],
  ['on-primary', 'danger'],
];

describe.each(['light', 'dark'] as const)('in the %s theme', (theme) => {
  test.each(texts)('%s on %s can be read (4.5 : 1)', (front, back) => {
    expect(contrast(colour(front, theme), colour(back, theme))).toBeGreaterThanOrEqual(4.5);
  });

  test.each(['edge', 'focus'])('%s stands out from the ground (3 : 1)', (name) => {
    expect(contrast(colour(name, theme), colour('ground', theme))).toBeGreaterThanOrEqual(3);
  });
});
