#!/usr/bin/env node
// gateway: parses arguments, finds out which process of a gateway this is, and starts it as that.

import sade from 'sade'
import { readInput } from '../lib/base/config/inputs.ts'
import type { ReadInput } from '../lib/base/config/inputs.ts'
import { loadConfig, parseConfig } from '../lib/base/config/load.ts'
import { QUICKSTART, QUICKSTART_ENV, QUICKSTART_FILE } from '../lib/base/config/quickstart.ts'
import { complaintsOf } from '../lib/base/config/resources.ts'
import { schemaText } from '../lib/base/config/schema.ts'
import type { Config } from '../lib/base/config/types.ts'
import { messageOf } from '../lib/base/errors.ts'
import { applyProcessPatches } from '../lib/base/process-patches.ts'
import { shownTarget } from '../lib/base/redact/texts.ts'
import { VERSION } from '../lib/base/version.ts'
import { run } from '../lib/process/run.ts'
import { load } from '../lib/process/start.ts'
import type { Start } from '../lib/process/start.ts'
import { takeOver } from '../lib/process/successor.ts'
import { supervise } from '../lib/process/supervise.ts'
import { work } from '../lib/process/work.ts'
import { takeSeat } from '../lib/workers/seat.ts'

/** As they come from the command line: a flag without its value is `true`, a value that looks like one a number. */
interface Options {
  _: string[]
  file?: Value | Value[]
  config?: Value | Value[]
  'validate-only'?: Value
  'print-schema'?: Value
}

const INLINE_FILE = '<inline>'
const LONG: Record<string, string> = { '-f': '--file', '-c': '--config', '-V': '--version' }

type Value = string | number | boolean

applyProcessPatches()

sade('gateway', true)
  .version(VERSION)
  .describe('A streaming proxy in front of MCP servers, plain HTTP backends and LLM providers.')
  .option(
    '-f, --file',
    'Configuration file (YAML), a folder of them, or - for standard input; repeatable',
  )
  .option('-c, --config', 'Configuration as text')
  .option('--validate-only', 'Check the configuration and exit')
  .option('--print-schema', 'Print the JSON Schema of the configuration and exit')
  .example('')
  .example('-f config.yaml')
  .example('-f config.yaml -f policies/ --validate-only')
  .action((options: Options) => void begin(options))
  .parse(wordsOf(process.argv), { unknown: (flag) => `unknown option ${flag}` })

/** sade takes a value that starts with a dash for the next option, and knows -v only. */
function wordsOf(words: readonly string[]): string[] {
  const long = words.map((word) => LONG[word] ?? word)
  return long.flatMap((word, at) => {
    const next = long[at + 1] ?? ''
    const isOption = word === '--file' || word === '--config'
    if (isOption && (next === '-' || next.startsWith('---\n'))) return [`${word}=${next}`]
    const isTaken = /^--(?:file|config)$/.test(long[at - 1] ?? '') && /^-(?:--\n|$)/.test(word)
    return isTaken ? [] : [word]
  })
}

async function begin(options: Options): Promise<void> {
  try {
    if (options['print-schema'] === true) return printSchema()
    const start = startOf(options)
    const [seat, predecessor] = [takeSeat(), takeOver()]
    if (seat !== null) return await work(start, seat)
    const loaded = load(start)
    if (options['validate-only'] === true) return tellValid(loaded.config)
    if (loaded.config.process.workers === 1) return await run(start, loaded, predecessor)
    await supervise(start, loaded, predecessor)
  } catch (error) {
    process.stderr.write(`Error: ${shownReason(error)}\n`)
    // Some of the ports may be open already.
    process.exit(1)
  }
}

function tellValid({ warnings, resources }: Config): void {
  for (const message of [...warnings, ...complaintsOf(resources)])
    process.stderr.write(`Warning: ${message}\n`)
  process.stdout.write('Configuration is valid!\n')
}

function printSchema(): void {
  // Whoever reads only its beginning is no fault.
  process.stdout.on('error', () => process.exit(0))
  process.stdout.write(schemaText())
}

function startOf(options: Options): Start {
  let text: string | null = null
  // A successor needs it, too.
  const input = (): string => (text ??= readInput())
  return {
    load: () => read(options, input),
    mayChange: canReadAgain(options),
    input: () => text,
    env: process.env,
    exit: (code) => process.exit(code),
  }
}

/** Nothing on the command line is passed over: a file named without -f would start the quickstart instead. */
function read(options: Options, input: ReadInput): Config {
  const { _: words, file, config, 'validate-only': only = true } = options
  const [word] = only === true ? words : [only]
  if (word !== undefined)
    throw new Error(`unexpected argument ${word}: a configuration file is given by -f`)
  if (file !== undefined && config !== undefined) throw new Error('only one of --config or --file')
  if (file !== undefined)
    return loadConfig(valuesOf(file, '-f needs the name of a file'), process.env, input)
  if (config === undefined)
    return parseConfig(QUICKSTART, { file: QUICKSTART_FILE, env: QUICKSTART_ENV })
  const [text = '', ...more] = valuesOf(config, '-c needs the text of a configuration')
  if (more.length > 0) throw new Error('-c is given more than once')
  return parseConfig(text, { file: INLINE_FILE })
}

function valuesOf(written: Value | Value[], missing: string): string[] {
  return [written].flat().map((value) => {
    if (value === true || value === '') throw new Error(missing)
    return String(value)
  })
}

/** Standard input is gone when it was read, and the quickstart is what it is. */
function canReadAgain({ file, config }: Options): boolean {
  if (file === undefined) return config !== undefined
  return ![file].flat().includes('-')
}

/** It quotes what is written, which may be a credential. */
function shownReason(error: unknown): string {
  return shownTarget(messageOf(error))
}
