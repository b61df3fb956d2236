#!/usr/bin/env node
// gateway: parses the command line and starts this process as a single process, a supervisor or a worker.

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

type Value = string | number | boolean

/** Options as sade parses them: a flag without a value is `true`, a numeric value is a number. */
interface Options {
  _: string[]
  file?: Value | Value[]
  config?: Value | Value[]
  'validate-only'?: Value
  'print-schema'?: Value
}

const INLINE_FILE = '<inline>'
const LONG_NAMES: Record<string, string> = { '-f': '--file', '-c': '--config', '-V': '--version' }

const HELP = `A streaming proxy for MCP servers, HTTP backends and LLM providers.

Usage: gateway [options]

Without -f and -c, the gateway serves a built-in configuration on http://127.0.0.1:3000.

Options:
  -f, --file <path>    Load a YAML file, all files of a folder, or - for standard input (repeatable)
  -c, --config <text>  Load the configuration from this text
      --validate-only  Check the configuration and exit
      --print-schema   Print the JSON Schema of the configuration and exit
  -v, --version        Print the version and exit
  -h, --help           Print this help and exit

Environment variables:
  ADMIN_ADDR           Address of the admin interface and web UI (default localhost:15000)
  STATS_ADDR           Address of the Prometheus metrics (default localhost:15020)
  READINESS_ADDR       Address of the readiness probe (default localhost:15021)

Signals:
  SIGHUP               Reload the configuration
  SIGUSR2              Restart without losing requests
  SIGTERM, SIGINT      Finish running requests and stop; a second signal stops at once

Examples:
  gateway                                  Try the built-in configuration
  gateway -f config.yaml                   Run with a file
  gateway -f config.yaml -f policies/      Run with a file and a folder of policies
  gateway -f config.yaml --validate-only   Check a file
`

applyProcessPatches()

const program = sade('gateway', true)
  .version(VERSION)
  .option('-f, --file')
  .option('-c, --config')
  .option('--validate-only')
  .option('--print-schema')
  .action((options: Options) => void run(options))
program.help = () => void process.stdout.write(HELP)
program.parse(normalizeArguments(process.argv), {
  unknown: (flag) => {
    process.stderr.write(`Error: unknown option ${flag}, see gateway --help\n`)
    process.exit(1)
  },
})

/** sade reads a value that starts with a dash as the next option, and knows -v but not -V. */
function normalizeArguments(args: readonly string[]): string[] {
  const long = args.map((arg) => LONG_NAMES[arg] ?? arg)
  return long.flatMap((arg, at) => {
    const next = long[at + 1] ?? ''
    const isOption = arg === '--file' || arg === '--config'
    if (isOption && (next === '-' || next.startsWith('---\n'))) return [`${arg}=${next}`]
    const isValue = /^--(?:file|config)$/.test(long[at - 1] ?? '') && /^-(?:--\n|$)/.test(arg)
    return isValue ? [] : [arg]
  })
}

async function run(options: Options): Promise<void> {
  try {
    if (options['print-schema'] === true) return printSchema()
    const start = buildStartOptions(options)
    const [workerContext, predecessor] = [readWorkerContext(), takeOverSockets()]
    if (workerContext !== null) return await runWorker(start, workerContext)
    const loaded = loadStartConfig(start)
    if (options['validate-only'] === true) return printValid(loaded.config)
    if (loaded.config.process.workers === 1)
      return await runSingleProcess(start, loaded, predecessor)
    await runSupervisor(start, loaded, predecessor)
  } catch (error) {
    // The message quotes the configuration, which may contain credentials.
    exitWithError(redactTarget(errorMessageOf(error)))
  }
}

/** Exits explicitly, because open ports would keep the process running; a pipe gets the whole message before. */
function exitWithError(message: string): void {
  process.exitCode = 1
  process.stderr.write(`Error: ${message}\n`, () => process.exit(1))
}

function printValid({ warnings, resources }: Config): void {
  for (const message of [...warnings, ...describeResourceProblems(resources)])
    process.stderr.write(`Warning: ${message}\n`)
  process.stdout.write('Configuration is valid!\n')
}

function printSchema(): void {
  // A reader such as head may close the pipe early; that is not an error.
  process.stdout.on('error', () => process.exit(0))
  process.stdout.write(formatConfigSchema())
}

function buildStartOptions(options: Options): StartOptions {
  let stdinText: string | null = null
  // The text is kept, because a successor process gets it too.
  const readInput = (): string => (stdinText ??= readStdin())
  return {
    load: () => loadFromOptions(options, readInput),
    mayChange: canReload(options),
    input: () => stdinText,
    env: process.env,
    exit: (code) => process.exit(code),
  }
}

/** Refuses other arguments: a file without -f would otherwise start the quickstart. */
function loadFromOptions(options: Options, readInput: ReadStdin): Config {
  const { _: args, file, config, 'validate-only': validateOnly = true } = options
  const [arg] = validateOnly === true ? args : [validateOnly]
  if (arg !== undefined)
    throw new Error(`unexpected argument ${arg}, use -f for a configuration file`)
  if (file !== undefined && config !== undefined) throw new Error('only one of --config or --file')
  if (file !== undefined)
    return loadConfig(valuesOf(file, '-f needs the name of a file'), process.env, readInput)
  if (config === undefined)
    return parseConfig(QUICKSTART, { file: QUICKSTART_FILE, env: QUICKSTART_ENV })
  const [text = '', ...more] = valuesOf(config, '-c needs the text of a configuration')
  if (more.length > 0) throw new Error('-c is given more than once')
  return parseConfig(text, { file: INLINE_FILE })
}

function valuesOf(option: Value | Value[], missing: string): string[] {
  return [option].flat().map((value) => {
    if (value === true || value === '') throw new Error(missing)
    return String(value)
  })
}

/** Standard input cannot be read again, and the quickstart never changes. */
function canReload({ file, config }: Options): boolean {
  if (file === undefined) return config !== undefined
  return ![file].flat().includes('-')
}
