#!/usr/bin/env node
// gateway: parses arguments, finds out which process of a gateway this is, and starts it as that.

import sade from 'sade'
import { readStdin } from '../lib/config/config-files.ts'
import type { ReadStdin } from '../lib/config/config-files.ts'
import { loadConfig, parseConfig } from '../lib/config/load.ts'
import { QUICKSTART, QUICKSTART_ENV, QUICKSTART_FILE } from '../lib/config/quickstart.ts'
import { describeResourceProblems } from '../lib/config/policy-resources.ts'
import { formatConfigSchema } from '../lib/config/json-schema.ts'
import type { Config } from '../lib/config/config-types.ts'
import { errorMessageOf } from '../lib/core/errors.ts'
import { applyProcessPatches } from '../lib/core/process-patches.ts'
import { redactTarget } from '../lib/text/redaction.ts'
import { VERSION } from '../lib/core/version.ts'
import { runSingleProcess } from '../lib/processes/single-process.ts'
import { loadStartConfig } from '../lib/processes/start-options.ts'
import type { StartOptions } from '../lib/processes/start-options.ts'
import { takeOverSockets } from '../lib/processes/successor.ts'
import { runSupervisor } from '../lib/processes/multi-process.ts'
import { runWorker } from '../lib/processes/worker.ts'
import { readWorkerContext } from '../lib/processes/worker-context.ts'

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
    const [seat, predecessor] = [readWorkerContext(), takeOverSockets()]
    if (seat !== null) return await runWorker(start, seat)
    const loaded = loadStartConfig(start)
    if (options['validate-only'] === true) return tellValid(loaded.config)
    if (loaded.config.process.workers === 1)
      return await runSingleProcess(start, loaded, predecessor)
    await runSupervisor(start, loaded, predecessor)
  } catch (error) {
    process.stderr.write(`Error: ${shownReason(error)}\n`)
    // Some of the ports may be open already.
    process.exit(1)
  }
}

function tellValid({ warnings, resources }: Config): void {
  for (const message of [...warnings, ...describeResourceProblems(resources)])
    process.stderr.write(`Warning: ${message}\n`)
  process.stdout.write('Configuration is valid!\n')
}

function printSchema(): void {
  // Whoever reads only its beginning is no fault.
  process.stdout.on('error', () => process.exit(0))
  process.stdout.write(formatConfigSchema())
}

function startOf(options: Options): StartOptions {
  let text: string | null = null
  // A successor needs it, too.
  const input = (): string => (text ??= readStdin())
  return {
    load: () => read(options, input),
    mayChange: canReadAgain(options),
    input: () => text,
    env: process.env,
    exit: (code) => process.exit(code),
  }
}

/** Nothing on the command line is passed over: a file named without -f would start the quickstart instead. */
function read(options: Options, input: ReadStdin): Config {
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
  return redactTarget(errorMessageOf(error))
}
