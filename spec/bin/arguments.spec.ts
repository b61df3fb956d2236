// The command lines of gateway and gwctl.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { VERSION } from '../../lib/core/version.ts'
import { runProgram } from '../support/program.ts'
import { ROOT } from '../support/root.ts'

const folder = mkdtempSync(join(tmpdir(), 'arguments-'))

function fileOf(name: string, text: string): string {
  const file = join(folder, name)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  return file
}

const ROUTES = 'routes:\n- policies: { directResponse: { status: 204 } }\n'
const GOOD = fileOf('good.yaml', `gateways: { default: { port: 3000 } }\n${ROUTES}`)

/** Every error is one line on stderr without a stack, and the exit code is 1. */
async function assertRefuses(
  args: string[],
  message: string | RegExp,
  env: Record<string, string | undefined> = {},
): Promise<void> {
  const { code, stdout, stderr } = await runProgram('gateway', args, env)
  if (typeof message === 'string') assert.is(stderr, `Error: ${message}\n`)
  else assert.match(stderr, message)
  assert.not.match(stderr, /\n\s+at /)
  assert.is(stdout, '')
  assert.is(code, 1)
}

const args = suite('arguments')

args.after(() => rmSync(folder, { recursive: true }))

args('gateway prints its version and its help', async () => {
  for (const flag of ['--version', '-v', '-V']) {
    const version = await runProgram('gateway', [flag])
    assert.is(version.stdout, `gateway, ${VERSION}\n`)
    assert.is(version.code, 0)
  }
  const help = await runProgram('gateway', ['--help'])
  assert.match(help.stdout, '-f, --file')
  assert.match(help.stdout, '--validate-only')
  assert.is(help.code, 0)
})

args('gwctl prints its version', async () => {
  const { code, stdout } = await runProgram('gwctl', ['version'])
  assert.is(stdout, `gwctl ${VERSION}\n`)
  assert.is(code, 0)
})

args('gwctl refuses an unknown command', async () => {
  const { code, stderr } = await runProgram('gwctl', ['nothing'])
  assert.match(stderr, 'Invalid command: nothing')
  assert.is(code, 1)
})

args('--validate-only checks a configuration and exits', async () => {
  const { code, stdout, stderr } = await runProgram('gateway', ['-f', GOOD, '--validate-only'])
  assert.is(stdout, 'Configuration is valid!\n')
  assert.is(stderr, '')
  assert.is(code, 0)
})

args('--validate-only prints a warning about a section that every network can use', async () => {
  const text = 'llm: { models: [{ name: m, provider: mock }] }'
  const { code, stdout, stderr } = await runProgram('gateway', ['-c', text, '--validate-only'])
  assert.match(stderr, /^Warning: \S+ llm listens on all interfaces .*set llm\.address/)
  assert.is(stdout, 'Configuration is valid!\n')
  assert.is(code, 0)
})

args('the quickstart is a valid configuration', async () => {
  const { code, stdout } = await runProgram('gateway', ['--validate-only'])
  assert.is(stdout, 'Configuration is valid!\n')
  assert.is(code, 0)
})

args('an unknown option is refused', async () => {
  await assertRefuses(['--nothing'], 'unknown option --nothing, see gateway --help')
})

args('other arguments are refused', async () => {
  const message = (arg: string): string =>
    `unexpected argument ${arg}, use -f for a configuration file`
  await assertRefuses([GOOD], message(GOOD))
  await assertRefuses(['--validate-only', GOOD], message(GOOD))
})

args('-f needs a file, -c needs a text, and they exclude each other', async () => {
  await assertRefuses(['-f'], '-f needs the name of a file')
  await assertRefuses(['--file='], '-f needs the name of a file')
  await assertRefuses(['-c'], '-c needs the text of a configuration')
  await assertRefuses(['-c', 'a', '-c', 'b'], '-c is given more than once')
  await assertRefuses(['-c', 'a: 1', '-f', GOOD], 'only one of --config or --file')
})

args('a configuration can be a text, standard input or a folder', async () => {
  const text = readFileSync(GOOD, 'utf8')
  for (const options of [
    ['-c', text],
    ['-c', `---\n${text}`],
    ['-f', '-'],
    ['--file=-'],
    ['-f', fileOf('in/main.yaml', text).replace('/main.yaml', '')],
  ]) {
    const { code, stdout, stderr } = await runProgram(
      'gateway',
      [...options, '--validate-only'],
      {},
      text,
    )
    assert.equal([stdout, stderr, code], ['Configuration is valid!\n', '', 0], options[0])
  }
  await assertRefuses(['-c', 'hello'], '<inline>:1:1: got a string, expected an object')
})

args('an error redacts credentials in the text that it quotes', async () => {
  const text = "routes: [{ backends: [{ host: 'https://u:s3cret@h/?token=s3cret' }] }]"
  const { code, stderr } = await runProgram('gateway', ['-c', text])
  assert.is(code, 1)
  assert.match(stderr, "got 'https://<redacted>@h/?token=<redacted>")
  assert.not.match(stderr, 's3cret')
})

args('the schema of the configuration is printed', async () => {
  const { code, stdout, stderr } = await runProgram('gateway', ['--print-schema'])
  assert.is(stdout, readFileSync(join(ROOT, 'schema/config.json'), 'utf8'))
  assert.equal([stderr, code], ['', 0])
})

args('an invalid policy resource is a warning with its position', async () => {
  const text = `${readFileSync(GOOD, 'utf8')}---\nkind: GatewayPolicy\napiVersion: a/v1alpha1\n`
  const file = fileOf('resource.yaml', text)
  const { code, stdout, stderr } = await runProgram('gateway', ['-f', file, '--validate-only'])
  assert.match(
    stderr,
    /^Warning: GatewayPolicy default\/: \S+resource\.yaml:\d+:1: .*spec is required\n$/,
  )
  assert.equal([stdout, code], ['Configuration is valid!\n', 0])
})

args('a pipe gets all of a long error before the exit', async () => {
  const long = 'x'.repeat(4_000)
  const routes = Array.from({ length: 120 }, (_x, at) => `- { ${long}${at}: 1 }\n`).join('')
  const file = fileOf('long.yaml', `gateways: { default: { port: 3000 } }\nroutes:\n${routes}`)
  const { code, stderr } = await runProgram('gateway', ['-f', file, '--validate-only'])
  assert.is(code, 1)
  assert.ok(stderr.length > 400_000)
  assert.match(stderr, /\nand \d+ more\n$/)
})

args('probable mistakes are warnings', async () => {
  const text = 'gateways: { default: { port: 3000 } }\n'
  const { code, stderr } = await runProgram('gateway', ['-c', text, '--validate-only'])
  assert.match(stderr, /^Warning: .*gateways.default: has no routes: every request gets 404\n$/)
  assert.is(code, 0)
})

args('two configurations are refused with both positions', async () => {
  const other = fileOf('other.yaml', '# one line down\n' + ROUTES)
  const message = `${other}:2:1: got a second configuration after ${GOOD}:1:1, expected one, and documents of kind GatewayPolicy`
  await assertRefuses(['-f', GOOD, '-f', other], message)
})

args('the error for a missing file names the file', async () => {
  const file = join(folder, 'absent.yaml')
  await assertRefuses(['-f', file], `${file}: cannot read the configuration file: no such file`)
})

args('the error for an unset environment variable has its position', async () => {
  const file = fileOf('variable.yaml', `gateways: { default: { port: '\${ABSENT}' } }\n${ROUTES}`)
  const message = /^Error: \S+variable\.yaml:1:30: .*environment variable not found: ABSENT\n$/
  await assertRefuses(['-f', file], message, { ABSENT: undefined })
})

args.run()
