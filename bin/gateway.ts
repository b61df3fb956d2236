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

interface Options {
  file?: string
  'validate-only'?: boolean
}

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
    const config = read(options.file)
    if (options['validate-only'] === true)
      return void process.stdout.write('Configuration is valid!\n')
    await serve(config, options.file === undefined)
  } catch (error) {
    process.stderr.write(`Error: ${messageOf(error)}\n`)
    process.exitCode = 1
  }
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
