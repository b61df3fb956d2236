// Every command of gwctl, as one table: help, completion and what is understood come from it. What a command does is
// loaded when it runs, so that the others start at once.

import type { Command, Option } from './command.ts'

const LOCAL: Option = { name: 'local', about: 'The gateway of this machine (the default)' }
const PORT: Option = {
  name: 'proxy-admin-port',
  short: 'p',
  value: 'port',
  about: 'Port of its admin interface (default 15000)',
}
const URL: Option = {
  name: 'admin-url',
  value: 'url',
  about: 'Its admin interface: http://host:port or unix:/path',
}
const TARGET = [LOCAL, PORT, URL]
/** Other tools know the port of profiles by this name. */
const PROFILE_TARGET = [LOCAL, { ...PORT, other: 'port' }, URL]
const OUTPUT: Option = {
  name: 'output',
  short: 'o',
  value: 'short|json|yaml',
  about: 'How to print it (default short)',
}
const DUMP: Option = {
  name: 'file',
  short: 'f',
  value: 'file',
  about: 'A saved /config_dump instead, or - for standard input',
}
const OUT_FILE: Option = {
  name: 'output',
  short: 'o',
  value: 'file',
  about: 'Where to write it (default gateway-<kind>-<time>.pb.gz)',
}
const WORKER: Option = {
  name: 'worker',
  value: 'n|supervisor',
  about: 'One process of several only (default all workers together)',
}

const TRACE: Command = {
  name: 'proxy trace',
  usage: '[gateway/<name>]',
  takesRest: true,
  about:
    'Trace the next request, or one that is sent for it. With --port <port> -- <url> [curl arguments] the request is sent ' +
    'to 127.0.0.1:<port>; the URL sets path and Host.',
  options: [
    { name: 'raw', about: 'Print events as JSON lines instead of opening the screen' },
    { name: 'port', value: 'port', about: 'Port of the listener to send a request to' },
    {
      name: 'file',
      short: 'f',
      value: 'file',
      about: 'Show a trace saved as JSON lines, or - for standard input',
    },
    { name: 'expression', value: 'cel', about: 'Trace the next request of which this is true' },
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
  run: async (call) => (await import('./trace/command.ts')).trace(call),
}

const CONFIG_OPTIONS = [DUMP, OUTPUT, ...TARGET]

const CONFIG: readonly Command[] = [
  {
    name: 'proxy config',
    aliases: ['c', 'cfg'],
    about: 'Show what configuration is in force.',
    options: CONFIG_OPTIONS,
    examples: ['proxy config all -o yaml', 'proxy config routes', 'proxy config be -f dump.json'],
  },
  {
    name: 'proxy config all',
    usage: '[gateway/<name>]',
    about: 'Print the whole configuration in force.',
    options: CONFIG_OPTIONS,
    examples: ['proxy config all --local -o yaml', 'proxy config all --file dump.json -o yaml'],
    run: async (call) => (await import('./config/command.ts')).configAll(call),
  },
  {
    name: 'proxy config backends',
    aliases: ['b', 'be'],
    usage: '[gateway/<name>]',
    about: 'List the backends.',
    options: CONFIG_OPTIONS,
    examples: ['proxy config backends', 'proxy cfg be --file dump.json -o json'],
    run: async (call) => (await import('./config/command.ts')).configBackends(call),
  },
  {
    name: 'proxy config routes',
    aliases: ['r'],
    usage: '[gateway/<name>]',
    about: 'List the routes, with what they match and where they lead.',
    options: CONFIG_OPTIONS,
    examples: ['proxy config routes', 'proxy config routes gateway/staging -o yaml'],
    run: async (call) => (await import('./config/command.ts')).configRoutes(call),
  },
  {
    name: 'proxy config policies',
    aliases: ['p'],
    usage: '[gateway/<name>]',
    about: 'List the policies, with where they hold.',
    options: CONFIG_OPTIONS,
    examples: ['proxy config policies', 'proxy config policies -o json'],
    run: async (call) => (await import('./config/command.ts')).configPolicies(call),
  },
]

const PROFILE: readonly Command[] = [
  {
    name: 'proxy profile',
    about: 'Write a profile that go tool pprof reads.',
    options: [WORKER, OUT_FILE, ...PROFILE_TARGET],
    examples: ['proxy profile cpu --seconds 10', 'proxy profile heap'],
  },
  {
    name: 'proxy profile cpu',
    usage: '[gateway/<name>]',
    about: 'Write where the gateway spends its time. Linux only.',
    options: [
      { name: 'seconds', value: 'n', about: 'How long to look, 1 to 300 (default 30)' },
      WORKER,
      OUT_FILE,
      ...PROFILE_TARGET,
    ],
    examples: [
      'proxy profile cpu --local',
      'proxy profile cpu --seconds 10 -o cpu.pb.gz',
      'proxy profile cpu --worker 2',
    ],
    run: async (call) => (await import('./profile.ts')).profileCpu(call),
  },
  {
    name: 'proxy profile heap',
    usage: '[gateway/<name>]',
    about: 'Write what holds the memory of the gateway.',
    options: [WORKER, OUT_FILE, ...PROFILE_TARGET],
    examples: ['proxy profile heap --local', 'proxy profile heap -p 15001 -o heap.pb.gz'],
    run: async (call) => (await import('./profile.ts')).profileHeap(call),
  },
]

const LOOKS: readonly Command[] = [
  {
    name: 'proxy log',
    usage: '[gateway/<name>]',
    about: 'Print what is logged, or change it until the gateway ends.',
    options: [
      { name: 'level', value: 'filter', about: 'off, error, warn, info, debug or trace' },
      { name: 'set', value: 'module=level', about: 'Of one module; repeatable', repeats: true },
      { name: 'reset', about: 'Back to what the configuration says' },
      ...TARGET,
    ],
    examples: [
      'proxy log',
      'proxy log --level debug',
      'proxy log --set accept=trace --set mcp=debug',
    ],
    run: async (call) => (await import('./log.ts')).log(call),
  },
  {
    name: 'proxy tasks',
    usage: '[gateway/<name>]',
    about: 'Print what the gateway is doing just now.',
    options: [OUTPUT, ...TARGET],
    examples: ['proxy tasks', 'proxy tasks -o json'],
    run: async (call) => (await import('./tree.ts')).tasks(call),
  },
  {
    name: 'proxy memory',
    usage: '[gateway/<name>]',
    about: 'Print where the memory of the gateway goes.',
    options: [OUTPUT, ...TARGET],
    examples: ['proxy memory', 'proxy memory -o yaml'],
    run: async (call) => (await import('./tree.ts')).memory(call),
  },
]

export const COMMANDS: readonly Command[] = [
  {
    name: 'version',
    about: 'Print the version.',
    options: [],
    examples: ['version'],
    run: async () => (await import('./version.ts')).version(),
  },
  {
    name: 'proxy',
    about: 'Look at a running gateway.',
    options: [],
    examples: ['proxy trace --local', 'proxy config routes', 'proxy profile cpu'],
  },
  TRACE,
  ...CONFIG,
  ...PROFILE,
  ...LOOKS,
  {
    name: 'completion',
    usage: '<bash|zsh|fish>',
    about: 'Print a script that completes commands and options in a shell.',
    options: [],
    examples: ['completion bash > /etc/bash_completion.d/gwctl', 'completion fish | source'],
    run: async ({ words }) => (await import('./completion.ts')).completion(words, COMMANDS),
  },
]
