// Compiles all contracts of the zoo in one run and prints them as one object of JSON:
// name -> {abi, bytecode}. Hashes of sources are left out of the code, so that
// a comment does not change an address; of the optimizer only what is quick is on.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import solc from "solc";

const root = dirname(fileURLToPath(import.meta.url));
const folder = join(root, "contracts");

const sources = {};
for (const file of readdirSync(folder).sort()) {
  if (file.endsWith(".sol")) sources[file] = { content: readFileSync(join(folder, file), "utf8") };
}

const input = {
  language: "Solidity",
  sources,
  settings: {
    evmVersion: "cancun",
    optimizer: { enabled: false, details: { peephole: true, deduplicate: true, yul: false } },
    metadata: { bytecodeHash: "none", appendCBOR: false },
    outputSelection: { "*": { "*": ["abi", "evm.bytecode.object"] } },
  },
};

// Imports beyond the folder are packages, by their names.
function find(path) {
  try {
    return { contents: readFileSync(join(root, "node_modules", path), "utf8") };
  } catch (err) {
    return { error: String(err) };
  }
}

const output = JSON.parse(solc.compile(JSON.stringify(input), { import: find }));
const errors = (output.errors ?? []).filter((e) => e.severity === "error");
if (errors.length > 0) {
  console.error(errors.map((e) => e.formattedMessage).join("\n"));
  process.exit(1);
}

const artefacts = {};
for (const file of Object.keys(sources)) {
  for (const [name, c] of Object.entries(output.contracts[file] ?? {})) {
    const { bytecode } = c.evm;
    if (bytecode.object === "") continue; // interfaces and abstract contracts
    if (artefacts[name] !== undefined) throw new Error(`${name} is declared twice`);
    artefacts[name] = { abi: c.abi, bytecode: "0x" + bytecode.object };
  }
}
process.stdout.write(JSON.stringify(artefacts));
