#!/usr/bin/env node
// gateway: parses arguments, starts the gateway, turns signals into a stop, exits.

import sade from 'sade'
import { tellSources } from '../lib/base/bundle-places.ts'
import { loadConfig, parseConfig } from '../lib/base/config/load.ts'
import {
  QUICKSTART,
  QUICKSTART_ENV,
  QUICKSTART_FILE,
  QUICKSTART_HINTS,
} from '../lib/base/config/quickstart.ts'
import { complaintsOf } from '../lib/base/config/resources.ts'
import { schemaText } from '../lib/base/config/schema.ts'
import type { Config } from '../lib/base/config/types.ts'
import { Log } from '../lib/base/log.ts'
import { shownTarget } from '../lib/base/redact.ts'
import { VERSION } from '../lib/base/version.ts'
import { Beside } from '../lib/beside.ts'
import { Gateway } from '../lib/gateway.ts'
import { Reloader } from '../lib/reload.ts'

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
  .action((options: Options) => void run(options))
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

async function run(options: Options): Promise<void> {
  try {
    if (options['print-schema'] === true) return printSchema()
    const readAt = Date.now()
    const config = read(options)
    if (options['validate-only'] === true) return tellValid(config)
    await serve(config, options, readAt)
  } catch (error) {
    process.stderr.write(`Error: ${messageOf(error)}\n`)
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

/** Nothing on the command line is passed over: a file named without -f would start the quickstart instead. */
function read({ _: words, file, config, 'validate-only': only = true }: Options): Config {
  const [word] = only === true ? words : [only]
  if (word !== undefined)
    throw new Error(`unexpected argument ${word}: a configuration file is given by -f`)
  if (file !== undefined && config !== undefined) throw new Error('only one of --config or --file')
  if (file !== undefined) return loadConfig(valuesOf(file, '-f needs the name of a file'))
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

async function serve(config: Config, options: Options, readAt: number): Promise<void> {
  const log = new Log(config.process.logging)
  outlive(log)
  const gateway = new Gateway(config, log)
  const reloader = new Reloader(gateway, log, { load: () => read(options) })
  const ending = endingOf(gateway, reloader, log)
  const { env } = process
  const quit = (): void => ending.begin('/quitquitquit')
  // Before the first line: it remembers them for the page.
  const beside = new Beside({ config, env, gateway, reloader, log, quit })
  log.line('info', 'gateway', 'loaded config', ['file', config.file, 'generation', 1])
  for (const message of [...config.warnings, ...complaintsOf(config.resources)])
    log.line('warn', 'config', message, [])
  // However it ends: child processes and the files of unix sockets go with it.
  process.on('exit', () => {
    gateway.abandon()
    beside.close()
  })
  await beside.open()
  await gateway.start()
  // Before it says that it has started: whoever reads that may send a signal.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => ending.signalled(signal))
  if (canReadAgain(options)) keepUp(reloader, readAt)
  log.flush()
  if (config.file === QUICKSTART_FILE) process.stdout.write(QUICKSTART_HINTS + '\n')
}

/** A fault of ours that nothing else caught costs what it happened in, and not every other stream. */
function outlive(log: Log): void {
  tellSources()
  process.on('uncaughtException', (error) =>
    log.line('error', 'gateway', 'internal error', ['cause', error.stack ?? error.message]),
  )
}

interface Ending {
  /** A second signal does not wait any longer. */
  signalled(signal: NodeJS.Signals): void
  begin(reason: string): void
}

function endingOf(gateway: Gateway, reloader: Reloader, log: Log): Ending {
  let state: 'running' | 'stopping' = 'running'
  const begin = (reason: string): void => {
    if (state === 'stopping') return
    state = 'stopping'
    log.line('info', 'gateway', 'shutting down', ['signal', reason])
    reloader.close()
    void gateway.stop().then(() => {
      log.line('info', 'gateway', 'stopped', [])
      log.flush()
      process.exit(0)
    })
  }
  const signalled = (signal: NodeJS.Signals): void => {
    if (state === 'running') return begin(signal)
    log.flush()
    process.exit(0)
  }
  return { begin, signalled }
}

function keepUp(reloader: Reloader, readAt: number): void {
  const watching = reloader.start(readAt)
  process.on('SIGHUP', () => void watching.then(() => reloader.reload('SIGHUP')))
}

/** Standard input is gone when it was read, and the quickstart is what it is. */
function canReadAgain({ file, config }: Options): boolean {
  if (file === undefined) return config !== undefined
  return ![file].flat().includes('-')
}

/** It quotes what is written, which may be a credential. */
function messageOf(error: unknown): string {
  return shownTarget(error instanceof Error ? error.message : String(error))
}
