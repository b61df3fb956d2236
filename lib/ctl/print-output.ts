// Prints data as a table, as JSON or as YAML, and names output files.

import { optionValue } from './admin-client.ts'
import type { Invocation } from './gwctl-commands.ts'
import { fit, plain, widthOf } from './terminal-text.ts'

type OutputFormat = 'short' | 'json' | 'yaml'

const COLUMN_GAP = 3

export function outputFormat(invocation: Invocation): OutputFormat {
  const format = optionValue(invocation, 'output') ?? 'short'
  if (format === 'short' || format === 'json' || format === 'yaml') return format
  throw new Error(`output format "${format}" not supported, expected short, json or yaml`)
}

/** `short` builds the text of the format `short`. */
export async function printAs(
  format: OutputFormat,
  value: unknown,
  short: () => string,
): Promise<void> {
  if (format === 'short') return print(short())
  print(format === 'json' ? jsonText(value) : await yamlText(value))
}

/** A terminal gets plain text; a file or pipe gets the text unchanged. */
export function print(text: string): void {
  if (!process.stdout.isTTY) return void process.stdout.write(text)
  process.stdout.write(text.split('\n').map(plain).join('\n'))
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2) + '\n'
}

/** Keys are sorted, so that two outputs can be compared; an empty line ends the text. */
async function yamlText(value: unknown): Promise<string> {
  const { stringify } = await import('yaml')
  return (
    stringify(value, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false }) + '\n'
  )
}

/** Each column is as wide as its widest cell. */
export function tableText(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const all = [headings, ...rows].map((row) => row.map(plain))
  const widths = headings.map((_, at) => Math.max(...all.map((row) => widthOf(row[at] ?? ''))))
  return all
    .map((row) => row.map((cell, at) => fit(cell, widths[at]! + COLUMN_GAP)).join(''))
    .map((line) => line.trimEnd() + '\n')
    .join('')
}

/** The local time for a file name: `20261115-100701`. */
export function fileTimestamp(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`
  return `${day}-${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`
}
