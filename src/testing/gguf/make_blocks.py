# Makes blocks.json: random blocks with ordinary scales, decoded by the Python package gguf 0.19.0 (numpy). See PROVENANCE.md.
import base64, json, os
import gguf, numpy as np
from gguf import GGMLQuantizationType as T
from gguf.quants import dequantize, quantize
rng=np.random.default_rng(20261130)
f16=lambda x: np.array([x],np.float16).view(np.uint8)
# where the f16 fields of a block lie
F16={'Q4_0':[0],'Q4_1':[0,2],'Q5_0':[0],'Q5_1':[0,2],'Q8_0':[0],'Q2_K':[80,82],'Q3_K':[108],'Q4_K':[0,2],'Q5_K':[0,2],'Q6_K':[208],'IQ4_NL':[0],'IQ4_XS':[0]}
out={}
for name,fields in F16.items():
    t=T[name]; n,b=gguf.GGML_QUANT_SIZES[t]
    blocks=6 if n==32 else 3
    data=rng.integers(0,256,(blocks,b),dtype=np.uint8)
    for i in range(blocks):
        for f in fields:
            v=rng.normal()*10.0**rng.integers(-4,1)
            if i==blocks-1: v=float(rng.integers(1,1024))*2.0**-24  # subnormal
            data[i,f:f+2]=f16(v)
    y=dequantize(data.reshape(1,-1),t).astype(np.float32).reshape(-1)
    assert np.isfinite(y).all()
    out[name]={'blocks':base64.b64encode(data.tobytes()).decode(),'values':base64.b64encode(y.tobytes()).decode()}
for name in ['F16','BF16']:
    t=T[name]
    data=rng.integers(0,65536,64,dtype=np.uint16)
    data[:6]=[0,0x8000,1,0x7bff if name=='F16' else 0x7f7f,0x3c00,0x8001]
    y=dequantize(data.view(np.uint8).reshape(1,-1),t).reshape(-1)
    keep=np.isfinite(y); data=data[keep]; y=y[keep].astype(np.float32)
    out[name]={'blocks':base64.b64encode(data.tobytes()).decode(),'values':base64.b64encode(y.tobytes()).decode()}
# what ggml's own rounding makes of numbers (the package's quantizers are bit-exact ports), for the types that are kept
w=(rng.normal(size=(3,64))*0.05).astype(np.float32)
for name in ['Q8_0','Q4_0']:
    q=quantize(w,T[name]); 
    out[name+' of rows']={'blocks':base64.b64encode(q.tobytes()).decode(),'values':base64.b64encode(dequantize(q,T[name]).astype(np.float32).tobytes()).decode()}
json.dump(out, open(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'blocks.json'), 'w'), indent=1)

