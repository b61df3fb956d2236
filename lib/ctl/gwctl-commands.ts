// The table of all gwctl commands: parsing, help and shell completion use it. The code of a command is loaded when it
// runs, so that every command starts fast.

/** Without `value` the option is a switch; otherwise `value` describes the value in the help. */
export interface Option {
  readonly name: string
  readonly short?: string
  /** A second long name. */
  readonly alias?: string
  readonly value?: string
  readonly about: string
  /** The option may be given several times. */
  readonly repeats?: true
}

/** The parsed arguments of one command. */
export interface Invocation {
  /** The positional arguments after the command. */
  readonly args: readonly string[]
  /** By long name: a switch is true, an option that repeats may be a list. */
  readonly options: Readonly<Record<string, string | readonly string[] | boolean | undefined>>
  /** Everything after `--`; null without `--`. */
  readonly rest: readonly string[] | null
}

export interface Command {
  /** All words of the command: `proxy config all`. */
  readonly name: string
  /** Other spellings of the last word. */
  readonly aliases?: readonly string[]
  /** The positional argument: `[…]` if optional, `<…>` if required. */
  readonly usage?: string
  /** Whether arguments after `--` are allowed. */
  readonly takesRest?: true
  readonly about: string
  readonly options: readonly Option[]
  readonly examples: readonly string[]
  /** A group of commands has none. */
  readonly run?: (invocation: Invocation) => Promise<void>
}

const LOCAL: Option = { name: 'local', about: 'Use the gateway on this machine (default)' }
const PORT: Option = {
  name: 'proxy-admin-port',
  short: 'p',
  value: 'port',
  about: 'Port of the admin interface (default 15000)',
}
const URL: Option = {
  name: 'admin-url',
  value: 'url',
  about: 'Address of the admin interface: http://host:port or unix:/path',
}
const TARGET = [LOCAL, PORT, URL]
/** Profile tools usually call this option --port. */
const PROFILE_TARGET = [LOCAL, { ...PORT, alias: 'port' }, URL]
const OUTPUT: Option = {
  name: 'output',
  short: 'o',
  value: 'short|json|yaml',
  about: 'Output format (default short)',
}
const DUMP: Option = {
  name: 'file',
  short: 'f',
  value: 'file',
  about: 'Read a saved /config_dump; - reads standard input',
}
const OUT_FILE: Option = {
  name: 'output',
  short: 'o',
  value: 'file',
  about: 'Output file (default gateway-<kind>-<time>.pb.gz)',
}
const WORKER: Option = {
  name: 'worker',
  value: 'n|supervisor',
  about: 'Profile one process (default: all workers)',
}

const TRACE: Command = {
  name: 'proxy trace',
  usage: '[gateway/<name>]',
  takesRest: true,
  about:
    'Trace the next request, or send one and trace it. With --port <port> -- <url> [curl arguments] gwctl sends the ' +
    'request to 127.0.0.1:<port>; the URL sets the path and the Host header.',
  options: [
    { name: 'raw', about: 'Print events as JSON lines instead of the interactive view' },
    { name: 'port', value: 'port', about: 'Send a request to this listener port' },
    {
      name: 'file',
      short: 'f',
      value: 'file',
      about: 'Show a trace saved as JSON lines; - reads standard input',
    },
    {
      name: 'expression',
      value: 'cel',
      about: 'Trace the next request that matches a CEL expression',
    },
    ...TARGET,
  ],
  examples: [
    'proxy trace --local',
    'proxy trace --local --raw > trace.jsonl',
    'proxy trace --file trace.jsonl',
    `proxy trace --local --expression 'request.path == "/mcp"'`,
    `proxy trace --local --port 3000 -- http://example.com/api -X POST -d '{"a":1}'`,
    'proxy trace gateway/staging',
  ],
  run: async (invocation) => (await import('./trace-command.ts')).trace(invocation),
}

const CONFIG_OPTIONS = [DUMP, OUTPUT, ...TARGET]

const CONFIG: readonly Command[] = [
  {
    name: 'proxy config',
    aliases: ['c', 'cfg'],
    about: 'Show the active configuration.',
    options: CONFIG_OPTIONS,
    examples: ['proxy config all -o yaml', 'proxy config routes', 'proxy config be -f dump.json'],
  },
  {
    name: 'proxy config all',
    usage: '[gateway/<name>]',
    about: 'Print the complete active configuration.',
    options: CONFIG_OPTIONS,
    examples: ['proxy config all --local -o yaml', 'proxy config all --file dump.json -o yaml'],
    run: async (invocation) => (await import('./config-command.ts')).configAll(invocation),
  },
  {
    name: 'proxy config backends',
    aliases: ['b', 'be'],
    usage: '[gateway/<name>]',
    about: 'List backends.',
    options: CONFIG_OPTIONS,
    examples: ['proxy config backends', 'proxy cfg be --file dump.json -o json'],
    run: async (invocation) => (await import('./config-command.ts')).configBackends(invocation),
  },
  {
    name: 'proxy config routes',
    aliases: ['r'],
    usage: '[gateway/<name>]',
    about: 'List routes with their matches and backends.',
    options: CONFIG_OPTIONS,
    examples: ['proxy config routes', 'proxy config routes gateway/staging -o yaml'],
    run: async (invocation) => (await import('./config-command.ts')).configRoutes(invocation),
  },
  {
    name: 'proxy config policies',
    aliases: ['p'],
    usage: '[gateway/<name>]',
    about: 'List policies and where they apply.',
    options: CONFIG_OPTIONS,
    examples: ['proxy config policies', 'proxy config policies -o json'],
    run: async (invocation) => (await import('./config-command.ts')).configPolicies(invocation),
  },
]

const PROFILE: readonly Command[] = [
  {
    name: 'proxy profile',
    about: 'Write a CPU or heap profile for go tool pprof.',
    options: [WORKER, OUT_FILE, ...PROFILE_TARGET],
    examples: ['proxy profile cpu --seconds 10', 'proxy profile heap'],
  },
  {
    name: 'proxy profile cpu',
    usage: '[gateway/<name>]',
    about: 'Write a CPU profile. Linux only.',
    options: [
      { name: 'seconds', value: 'n', about: 'Duration, 1 to 300 (default 30)' },
      WORKER,
      OUT_FILE,
      ...PROFILE_TARGET,
    ],
    examples: [
      'proxy profile cpu --local',
      'proxy profile cpu --seconds 10 -o cpu.pb.gz',
      'proxy profile cpu --worker 2',
    ],
    run: async (invocation) => (await import('./profile-command.ts')).profileCpu(invocation),
  },
  {
    name: 'proxy profile heap',
    usage: '[gateway/<name>]',
    about: 'Write a heap profile.',
    options: [WORKER, OUT_FILE, ...PROFILE_TARGET],
    examples: ['proxy profile heap --local', 'proxy profile heap -p 15001 -o heap.pb.gz'],
    run: async (invocation) => (await import('./profile-command.ts')).profileHeap(invocation),
  },
]

const INSPECTION: readonly Command[] = [
  {
    name: 'proxy log',
    usage: '[gateway/<name>]',
    about: 'Print the log level, or change it until the gateway stops.',
    options: [
      { name: 'level', value: 'level', about: 'off, error, warn, info, debug or trace' },
      {
        name: 'set',
        value: 'module=level',
        about:
          'Set the level of one module; may be repeated. An unknown module lists the known ones',
        repeats: true,
      },
      { name: 'reset', about: 'Go back to the level in the configuration' },
      ...TARGET,
    ],
    examples: [
      'proxy log',
      'proxy log --level debug',
      'proxy log --set accept=trace --set mcp=debug',
    ],
    run: async (invocation) => (await import('./inspect-commands.ts')).log(invocation),
  },
  {
    name: 'proxy tasks',
    usage: '[gateway/<name>]',
    about: 'Print open connections, sessions and other running work.',
    options: [OUTPUT, ...TARGET],
    examples: ['proxy tasks', 'proxy tasks -o json'],
    run: async (invocation) => (await import('./inspect-commands.ts')).tasks(invocation),
  },
  {
    name: 'proxy memory',
    usage: '[gateway/<name>]',
    about: 'Print the memory usage of the gateway.',
    options: [OUTPUT, ...TARGET],
    examples: ['proxy memory', 'proxy memory -o yaml'],
    run: async (invocation) => (await import('./inspect-commands.ts')).memory(invocation),
  },
]

export const COMMANDS: readonly Command[] = [
  {
    name: 'version',
    about: 'Print the version.',
    options: [],
    examples: ['version'],
    run: printVersion,
  },
  {
    name: 'proxy',
    about: 'Inspect and debug a running gateway.',
    options: [],
    examples: ['proxy trace --local', 'proxy config routes', 'proxy profile cpu'],
  },
  TRACE,
  ...CONFIG,
  ...PROFILE,
  ...INSPECTION,
  {
    name: 'completion',
    usage: '<bash|zsh|fish>',
    about: 'Print a completion script for a shell.',
    options: [],
    examples: ['completion bash > /etc/bash_completion.d/gwctl', 'completion fish | source'],
    run: async ({ args }) => (await import('./shell-completion.ts')).completion(args, COMMANDS),
  },
]

export async function printVersion(): Promise<void> {
  const { VERSION } = await import('../core/version.ts')
  process.stdout.write(`gwctl ${VERSION}\n`)
}
