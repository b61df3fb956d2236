#!/usr/bin/env node
// gateway: parses arguments, starts the gateway, turns signals into a stop, exits.

import sade from 'sade'
import { ConfigError } from '../lib/base/config/error.ts'
import { loadConfig, parseConfig } from '../lib/base/config/load.ts'
import { QUICKSTART, QUICKSTART_FILE, QUICKSTART_HINTS } from '../lib/base/config/quickstart.ts'
import type { Config } from '../lib/base/config/types.ts'
import { Log } from '../lib/base/log.ts'
import { VERSION } from '../lib/base/version.ts'
import { Gateway } from '../lib/gateway.ts'

/** As they come from the command line: a flag without its value is `true`, a value that looks like one a number. */
interface Options {
  _: string[]
  file?: Value | Value[]
  'validate-only'?: Value
}

type Value = string | number | boolean

sade('gateway', true)
  .version(VERSION)
  .describe('A streaming proxy in front of MCP servers, plain HTTP backends and LLM providers.')
  .option('-f, --file', 'Configuration file (YAML); without it a built-in quickstart is served')
  .option('--validate-only', 'Check the configuration and exit')
  .example('-f config.yaml')
  .example('-f config.yaml --validate-only')
  .action((options: Options) => void run(options))
  .parse(process.argv, { unknown: (flag) => `unknown option ${flag}` })

async function run(options: Options): Promise<void> {
  try {
    const file = fileOf(options)
    const config = read(file)
    if (options['validate-only'] === true)
      return void process.stdout.write('Configuration is valid!\n')
    await serve(config, file === undefined)
  } catch (error) {
    process.stderr.write(`Error: ${messageOf(error)}\n`)
    // Some of the ports may be open already.
    process.exit(1)
  }
}

/** Nothing on the command line is passed over: a file named without -f would start the quickstart instead. */
function fileOf({ _: words, file, 'validate-only': only = true }: Options): string | undefined {
  const [word] = only === true ? words : [only]
  if (word !== undefined)
    throw new Error(`unexpected argument ${word}: a configuration file is given by -f`)
  if (file === undefined) return undefined
  if (Array.isArray(file)) throw new Error('-f is given more than once')
  if (file === true || file === '') throw new Error('-f needs the name of a file')
  return String(file)
}

function read(file: string | undefined): Config {
  return file === undefined ? parseConfig(QUICKSTART, { file: QUICKSTART_FILE }) : loadConfig(file)
}

async function serve(config: Config, isQuickstart: boolean): Promise<void> {
  const log = new Log(config.process.logging)
  const gateway = new Gateway(config, log)
  await gateway.start()
  log.line('info', 'gateway', 'loaded config', ['file', config.file])
  for (const { port, address } of config.gateways)
    log.line('info', 'gateway', 'started bind', ['bind', `bind/${port}`, 'address', address])
  log.flush()
  if (isQuickstart) process.stdout.write(QUICKSTART_HINTS + '\n')
  let stopping: Promise<void> | null = null
  const stop = (signal: NodeJS.Signals): void => {
    if (stopping !== null) {
      log.flush()
      process.exit(signal === 'SIGINT' ? 130 : 143)
    }
    log.line('info', 'gateway', 'shutting down', ['signal', signal])
    stopping = gateway.stop().then(() => {
      log.line('info', 'gateway', 'stopped', [])
      log.flush()
      process.exit(0)
    })
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
}

function messageOf(error: unknown): string {
  if (error instanceof ConfigError) return error.message
  return error instanceof Error ? error.message : String(error)
}
