// How data is printed: as a table for people, as JSON, or as YAML.

import { valueOf } from './command.ts'
import type { Call } from './command.ts'
import { plain } from './plain-text.ts'

export type Form = 'short' | 'json' | 'yaml'

export function formOf(call: Call): Form {
  const form = valueOf(call, 'output') ?? 'short'
  if (form === 'short' || form === 'json' || form === 'yaml') return form
  throw new Error(`output format "${form}" not supported`)
}

/** The value as JSON or YAML, or in short words. */
export async function printAs(form: Form, value: unknown, short: () => string): Promise<void> {
  if (form === 'short') return print(short())
  print(form === 'json' ? jsonText(value) : await yamlText(value))
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2) + '\n'
}

/** A terminal gets nothing that it would act on; anybody else gets it as it is. */
export function print(text: string): void {
  if (!process.stdout.isTTY) return void process.stdout.write(text)
  process.stdout.write(text.split('\n').map(plain).join('\n'))
}

/** Sorted, so that two of them can be compared; an empty line ends it. */
async function yamlText(value: unknown): Promise<string> {
  const { stringify } = await import('yaml')
  return (
    stringify(value, { sortMapEntries: true, lineWidth: 0, aliasDuplicateObjects: false }) + '\n'
  )
}
